// The lines of `refcluster storeprobe plan`: messages described so that any store can be asked to
// hold them, byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kerolox/base/result.h"
#include "kerolox/storage/message.h"

namespace kerolox::tools {

struct PlannedItem {
  std::int32_t flag = 0;
  std::vector<std::pair<std::string, std::string>> properties;  // in the order of the line
  std::string body;
};

struct PlannedMessage {
  std::string topic;
  QueueId queue;
  std::int32_t sys_flag = 0;
  std::int64_t born_timestamp_ms = 0;
  storage::Host born_host;
  storage::Host store_host;
  std::int32_t reconsume_times = 0;
  PhysicalOffset prepared_transaction_offset;
  bool batch = false;
  std::vector<PlannedItem> items;  // one, but for a batch
};

// Errors: kInvalidArgument, naming the member at fault.
Result<PlannedMessage> parse_plan_line(std::string_view line);

// What RocketMQ's broker does before a message with a delay level reaches its store: the message
// goes to SCHEDULE_TOPIC_XXXX, into the queue of its level, and remembers where it wanted to go.
void apply_delay_level(PlannedMessage& message);

// The messages to append, with properties in the order in which Java would have written them.
// Borrow from `planned` and from `properties`.
std::vector<storage::Message> as_messages(const PlannedMessage& planned,
                                          std::vector<std::vector<storage::Property>>& properties);

}  // namespace kerolox::tools
