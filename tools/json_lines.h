// One JSON object a line, members in the order in which they are added.
//
// Strings must be valid UTF-8 (see java_text()): what is printed is JSON for every reader.
// Two dialects of escapes, both JSON: RapidJSON's, and that of fastjson 1.x, in which RocketMQ's
// own tools print.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "kerolox/storage/append.h"
#include "kerolox/storage/level.h"
#include "kerolox/storage/message.h"
#include "kerolox/storage/read_batch.h"

namespace kerolox::tools {

class JsonLine {
 public:
  enum class Escapes : std::uint8_t { kStandard, kFastjson };
  explicit JsonLine(Escapes escapes = Escapes::kStandard) : escapes_(escapes) {}

  JsonLine& begin_object();  // the line itself, or a value
  JsonLine& end_object();
  JsonLine& begin_array();
  JsonLine& end_array();
  JsonLine& key(std::string_view name);

  JsonLine& string(std::string_view value);
  JsonLine& number(std::int64_t value);
  JsonLine& real(double value);  // three decimals
  JsonLine& boolean(bool value);

  // A member: key and value.
  JsonLine& add(std::string_view name, std::string_view value) { return key(name).string(value); }
  JsonLine& add(std::string_view name, const char* value) { return key(name).string(value); }
  JsonLine& add(std::string_view name, std::int64_t value) { return key(name).number(value); }
  JsonLine& add(std::string_view name, std::int32_t value) { return key(name).number(value); }
  JsonLine& add(std::string_view name, double value) { return key(name).real(value); }
  JsonLine& add(std::string_view name, bool value) { return key(name).boolean(value); }

  // The line with its line feed; the object is ready for the next one. Valid until then.
  std::string_view take();

 private:
  Escapes escapes_;
  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
  std::string escaped_;
  std::string line_;
};

// `text` in quotes, escaped as fastjson 1.x does; appended to `to`.
void append_fastjson(std::string& to, std::string_view text);

std::string_view level_name(storage::LocalLevel level);
// "none", "written:2", "synced:2".
std::string replicas_name(const storage::Level& level);

// {"topic":...,"queueId":...,"queueOffset":...,"physicalOffset":...,"msgId":...,"level":...,
// "replicas":...}
struct ReceiptLine {
  std::string_view topic;
  QueueId queue;
  storage::RecordPosition position;
  storage::Host store_host;
  storage::Level level;
};
std::string_view receipt_line(const ReceiptLine& receipt, JsonLine& json);

// The members of a whole message; its body in base64 as `body`, and as `text` too if it is UTF-8.
void add_message(const storage::MessageView& message, JsonLine& json);

// "damaged":[{"physicalOffset":...,"bytes":...,"fault":...},...]
void add_damage(std::string_view name, const std::vector<storage::DamagedRange>& ranges,
                JsonLine& json);

}  // namespace kerolox::tools
