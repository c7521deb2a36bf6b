#include "tools/json_lines.h"

#include <cmath>
#include <cstdio>

#include "kerolox/storage/message_id.h"
#include "kerolox/storage/properties.h"
#include "tools/text.h"

namespace kerolox::tools {
namespace {

// The code point's escape in fastjson 1.x, appended to `to`; false if it has none.
bool append_escape(std::string& to, unsigned code_point) {
  switch (code_point) {
    case '"':
      to.append("\\\"");
      return true;
    case '\\':
      to.append("\\\\");
      return true;
    case '\b':
      to.append("\\b");
      return true;
    case '\t':
      to.append("\\t");
      return true;
    case '\n':
      to.append("\\n");
      return true;
    case '\f':
      to.append("\\f");
      return true;
    case '\r':
      to.append("\\r");
      return true;
    default:
      break;
  }
  const bool control = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
  if (!control && code_point != 0x2028 && code_point != 0x2029) {
    return false;
  }
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04X", code_point);
  to.append(escape);
  return true;
}

}  // namespace

void append_fastjson(std::string& to, std::string_view text) {
  to.push_back('"');
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == 0xC2 && i + 1 < text.size() &&
        append_escape(to, static_cast<unsigned char>(text[i + 1]))) {
      ++i;                                                              // U+0080 to U+009F
    } else if (byte == 0xE2 && (text.substr(i, 3) == "\xE2\x80\xA8" ||  // U+2028 and U+2029
                                text.substr(i, 3) == "\xE2\x80\xA9")) {
      append_escape(to, 0x2000U | (static_cast<unsigned char>(text[i + 2]) & 0x3FU));
      i += 2;
    } else if (byte >= 0x80 || !append_escape(to, byte)) {
      to.push_back(text[i]);
    }
  }
  to.push_back('"');
}

JsonLine& JsonLine::begin_object() {
  writer_.StartObject();
  return *this;
}

JsonLine& JsonLine::end_object() {
  writer_.EndObject();
  return *this;
}

JsonLine& JsonLine::begin_array() {
  writer_.StartArray();
  return *this;
}

JsonLine& JsonLine::end_array() {
  writer_.EndArray();
  return *this;
}

// RapidJSON's writer takes a key for a string at a place where a key stands.
JsonLine& JsonLine::key(std::string_view name) { return string(name); }

JsonLine& JsonLine::string(std::string_view value) {
  if (escapes_ == Escapes::kStandard) {
    writer_.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  } else {
    escaped_.clear();
    append_fastjson(escaped_, value);
    writer_.RawValue(escaped_.data(), escaped_.size(), rapidjson::kStringType);
  }
  return *this;
}

JsonLine& JsonLine::number(std::int64_t value) {
  writer_.Int64(value);
  return *this;
}

JsonLine& JsonLine::real(double value) {
  writer_.Double(std::isfinite(value) ? std::round(value * 1000) / 1000 : 0);
  return *this;
}

JsonLine& JsonLine::boolean(bool value) {
  writer_.Bool(value);
  return *this;
}

std::string_view JsonLine::take() {
  line_.assign(buffer_.GetString(), buffer_.GetSize());
  line_.push_back('\n');
  buffer_.Clear();
  writer_.Reset(buffer_);
  return line_;
}

std::string_view level_name(storage::LocalLevel level) {
  return level == storage::LocalLevel::kDisk ? "disk" : "memory";
}

std::string replicas_name(const storage::Level& level) {
  if (level.replicas == storage::ReplicaLevel::kNone) {
    return "none";
  }
  std::string text(level.replicas == storage::ReplicaLevel::kSynced ? "synced:" : "written:");
  return text.append(std::to_string(level.replica_count));
}

std::string_view receipt_line(const ReceiptLine& receipt, JsonLine& json) {
  const storage::MessageId id{receipt.store_host, receipt.position.offset};
  json.begin_object()
      .add("topic", receipt.topic)
      .add("queueId", receipt.queue.value)
      .add("queueOffset", receipt.position.queue_offset.value)
      .add("physicalOffset", receipt.position.offset.value)
      .add("msgId", id.text())
      .add("level", level_name(receipt.level.local))
      .add("replicas", replicas_name(receipt.level))
      .end_object();
  return json.take();
}

void add_message(const storage::MessageView& message, JsonLine& json) {
  const storage::MessageId id{message.store_host, message.offset};
  json.add("topic", java_text(message.topic))
      .add("queueId", message.queue.value)
      .add("queueOffset", message.queue_offset.value)
      .add("physicalOffset", message.offset.value)
      .add("msgId", id.text())
      .add("recordBytes", message.record_bytes)
      .add("version", message.version)
      .add("flag", message.flag)
      .add("sysFlag", message.sys_flag)
      .add("bornTimestamp", message.born_timestamp_ms)
      .add("bornHost", message.born_host.text())
      .add("storeTimestamp", message.store_timestamp_ms)
      .add("storeHost", message.store_host.text())
      .add("reconsumeTimes", message.reconsume_times)
      .add("preparedTransactionOffset", message.prepared_transaction_offset.value);
  json.key("properties").begin_object();
  for (const storage::Property& property : storage::parse_properties(message.properties)) {
    json.add(java_text(property.name), java_text(property.value));
  }
  json.end_object()
      .add("bodyCRC", std::int64_t{message.body_crc})
      .add("bodyBytes", static_cast<std::int64_t>(message.body.size()))
      .add("body", encode_base64(message.body));
  if (valid_utf8(as_text(message.body))) {
    json.add("text", as_text(message.body));
  }
}

void add_damage(std::string_view name, const std::vector<storage::DamagedRange>& ranges,
                JsonLine& json) {
  json.key(name).begin_array();
  for (const storage::DamagedRange& range : ranges) {
    json.begin_object()
        .add("physicalOffset", range.offset.value)
        .add("bytes", range.bytes)
        .add("fault", range.fault)
        .end_object();
  }
  json.end_array();
}

}  // namespace kerolox::tools
