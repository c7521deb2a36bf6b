#include "tools/plan.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "kerolox/storage/properties.h"
#include "tools/json_value.h"
#include "tools/text.h"

namespace kerolox::tools {
namespace {

constexpr std::string_view kScheduleTopic = "SCHEDULE_TOPIC_XXXX";
constexpr std::int32_t kDelayLevelMax = 18;

// Takes members out of one object, and keeps the first fault that it meets.
class Members {
 public:
  explicit Members(const JsonValue& object) : object_(object) {}

  std::string_view text(const char* name) {
    const JsonValue* value = find(name);
    return value != nullptr && value->is_string() ? std::string_view(value->text())
                                                  : fault(name, "a string");
  }
  std::int64_t int64(const char* name) {
    const JsonValue* value = find(name);
    if (value == nullptr || !value->is_integer()) {
      fault(name, "a whole number");
      return 0;
    }
    return value->integer();
  }
  std::int32_t int32(const char* name) {
    const std::int64_t value = int64(name);
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
      fault(name, "a number of 32 bits");
      return 0;
    }
    return static_cast<std::int32_t>(value);
  }
  storage::Host host(const char* name) {
    const Result<storage::Host> host = storage::Host::parse(text(name));
    if (!host) {
      fault(name, "a host as 192.0.2.1:10911");
      return {};
    }
    return *host;
  }
  std::string base64(const char* name) {
    std::optional<std::string> bytes = decode_base64(text(name));
    return bytes ? std::move(*bytes) : std::string(fault(name, "base64"));
  }
  std::vector<std::pair<std::string, std::string>> properties() {
    std::vector<std::pair<std::string, std::string>> result;
    const JsonValue* value = find("properties");
    if (value == nullptr || !value->is_object()) {
      fault("properties", "an object");
      return result;
    }
    for (const auto& [member, text] : value->members()) {
      if (!text.is_string()) {
        fault("properties", "an object of strings");
        break;
      }
      result.emplace_back(member, text.text());
    }
    return result;
  }
  const JsonValue* find(const char* name) const { return object_.find(name); }
  std::string_view fault(const char* name, const char* wanted) {
    if (fault_.empty()) {
      fault_.append("member ").append(name).append(" is not ").append(wanted);
    }
    return {};
  }
  Result<void> result() const {
    if (fault_.empty()) {
      return {};
    }
    return Error(ErrorCode::kInvalidArgument, fault_)
        .with_remedy("feed it the lines of `storeprobe plan`");
  }

 private:
  const JsonValue& object_;
  std::string fault_;
};

Result<PlannedItem> parse_item(const JsonValue& object) {
  if (!object.is_object()) {
    return Error(ErrorCode::kInvalidArgument, "an element of the batch is no object");
  }
  Members members(object);
  PlannedItem item;
  item.flag = members.int32("flag");
  item.properties = members.properties();
  item.body = members.base64("body");
  KEROLOX_RETURN_IF_ERROR(members.result());
  return item;
}

Result<std::vector<PlannedItem>> parse_items(const JsonValue& line, const JsonValue* batch) {
  std::vector<PlannedItem> items;
  if (batch == nullptr) {
    KEROLOX_ASSIGN_OR_RETURN(items.emplace_back(), parse_item(line));
    return items;
  }
  if (!batch->is_array() || batch->elements().empty()) {
    return Error(ErrorCode::kInvalidArgument, "member batch is not an array with elements");
  }
  for (const JsonValue& element : batch->elements()) {
    KEROLOX_ASSIGN_OR_RETURN(items.emplace_back(), parse_item(element));
  }
  return items;
}

}  // namespace

Result<PlannedMessage> parse_plan_line(std::string_view line) {
  const Result<JsonValue> document = JsonValue::parse(line);
  if (!document || !document->is_object()) {
    return Error(ErrorCode::kInvalidArgument, "not a JSON object")
        .with_remedy("feed it the lines of `storeprobe plan`");
  }
  Members members(*document);
  PlannedMessage message;
  message.topic = members.text("topic");
  message.queue = QueueId{members.int32("queueId")};
  message.sys_flag = members.int32("sysFlag");
  message.born_timestamp_ms = members.int64("bornTimestamp");
  message.born_host = members.host("bornHost");
  message.store_host = members.host("storeHost");
  message.reconsume_times = members.int32("reconsumeTimes");
  message.prepared_transaction_offset = PhysicalOffset{members.int64("preparedTransactionOffset")};
  KEROLOX_RETURN_IF_ERROR(members.result());
  const JsonValue* batch = members.find("batch");
  message.batch = batch != nullptr;
  KEROLOX_ASSIGN_OR_RETURN(message.items, parse_items(*document, batch));
  return message;
}

void apply_delay_level(PlannedMessage& message) {
  if (message.batch || !storage::sys_flag::takes_queue_offset(message.sys_flag)) {
    return;
  }
  auto& properties = message.items.front().properties;
  const auto delay = std::find_if(properties.begin(), properties.end(), [](const auto& property) {
    return property.first == storage::property::kDelayLevel;
  });
  if (delay == properties.end()) {
    return;
  }
  std::int32_t level = 0;
  const std::string& text = delay->second;
  std::from_chars(text.data(), text.data() + text.size(), level);
  if (level <= 0) {
    return;
  }
  properties.emplace_back(storage::property::kRealTopic, message.topic);
  properties.emplace_back(storage::property::kRealQueueId, std::to_string(message.queue.value));
  message.topic = kScheduleTopic;
  message.queue = QueueId{std::min(level, kDelayLevelMax) - 1};
}

std::vector<storage::Message> as_messages(const PlannedMessage& planned,
                                          std::vector<std::vector<storage::Property>>& properties) {
  std::vector<storage::Message> messages;
  properties.clear();
  for (const PlannedItem& item : planned.items) {
    std::vector<storage::Property> given;
    if (planned.batch) {
      // The elements are messages of a client, which asks for this by itself.
      given.push_back({storage::property::kWait, "true"});
    }
    for (const auto& [name, value] : item.properties) {
      given.push_back({name, value});
    }
    properties.push_back(storage::in_java_map_order(given));
  }
  for (std::size_t i = 0; i < planned.items.size(); ++i) {
    storage::Message& message = messages.emplace_back();
    message.topic = planned.topic;
    message.queue = planned.queue;
    message.body = as_bytes(planned.items[i].body);
    message.properties = properties[i];
    message.flag = planned.items[i].flag;
    message.sys_flag = planned.sys_flag;
    message.born_timestamp_ms = planned.born_timestamp_ms;
    message.born_host = planned.born_host;
    message.store_host = planned.store_host;
    message.reconsume_times = planned.reconsume_times;
    message.prepared_transaction_offset = planned.prepared_transaction_offset;
  }
  return messages;
}

}  // namespace kerolox::tools
