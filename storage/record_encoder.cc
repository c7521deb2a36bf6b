#include <cstring>
#include <limits>
#include <utility>

#include "kerolox/base/check.h"
#include "kerolox/base/endian.h"
#include "kerolox/storage/properties.h"
#include "kerolox/storage/record.h"
#include "storage/crc31.h"
#include "storage/property_text.h"
#include "storage/record_format.h"

namespace kerolox::storage {
namespace {

namespace format = record_format;

constexpr std::int32_t kHostFlags = sys_flag::kBornHostV6 | sys_flag::kStoreHostV6;

// Indexed by byte: whether a topic may contain it.
constexpr std::array<bool, 256> make_topic_characters() {
  std::array<bool, 256> allowed{};
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%_|-";
  for (const char character : kAllowed) {
    allowed[static_cast<unsigned char>(character)] = true;
  }
  return allowed;
}
constexpr std::array<bool, 256> kTopicCharacters = make_topic_characters();

Error invalid(const char* message, std::size_t value, const char* what) {
  return Error(ErrorCode::kInvalidArgument, message)
      .with_number(what, static_cast<std::int64_t>(value));
}

// More than may be stored, since a `__CRC32#` among them is dropped; but bounds what we copy.
constexpr std::size_t kPropertyBytesRead = 2 * kPropertiesBytesMax;

Error properties_too_long(std::size_t bytes) {
  return invalid("the properties are too long", bytes, "bytes")
      .with_number("bytes_max", kPropertiesBytesMax);
}

std::size_t topic_bytes_max(std::string_view topic, const RecordLimits& limits) {
  const bool may_be_long =
      limits.allow_long_topics || topic.starts_with("%RETRY%") || topic.starts_with("%DLQ%");
  return may_be_long ? kTopicBytesMax : kTopicBytesMaxV1;
}

Result<void> check_topic(std::string_view topic, const RecordLimits& limits) {
  if (topic.empty()) {
    return Error(ErrorCode::kInvalidArgument, "the topic is empty");
  }
  const std::size_t bytes_max = topic_bytes_max(topic, limits);
  if (topic.size() > bytes_max) {
    return invalid("the topic is too long", topic.size(), "bytes")
        .with_number("bytes_max", static_cast<std::int64_t>(bytes_max));
  }
  for (std::size_t index = 0; index < topic.size(); ++index) {
    if (!kTopicCharacters[static_cast<unsigned char>(topic[index])]) {
      return invalid("the topic has a character outside [A-Za-z0-9%_|-]", index, "index");
    }
  }
  return {};
}

Result<void> check_message(const Message& message, const RecordLimits& limits) {
  KEROLOX_RETURN_IF_ERROR(check_topic(message.topic, limits));
  if (message.queue.value < 0) {
    return Error(ErrorCode::kInvalidArgument, "the queue id is negative")
        .with_number("queue", message.queue.value);
  }
  if (std::cmp_greater(message.body.size(), limits.body_bytes_max)) {
    return invalid("the body is too large", message.body.size(), "bytes")
        .with_number("bytes_max", limits.body_bytes_max)
        .with_remedy("split or compress it, or raise the limit");
  }
  if ((message.sys_flag & sys_flag::kCompressionMask) > sys_flag::kCompressionZlib) {
    return Error(ErrorCode::kInvalidArgument, "sys_flag names no known compression")
        .with_number("sys_flag", message.sys_flag);
  }
  return {};
}

// Writes field after field.
class Cursor {
 public:
  explicit Cursor(std::byte* at) : at_(at) {}

  template <typename T>
  void integer(T value) {
    store_big_endian(at_, value);
    at_ += sizeof value;
  }

  void text(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

  void host(const Host& host) {
    const std::size_t address_bytes = host.v6 ? 16 : 4;
    std::memcpy(at_, host.address.data(), address_bytes);
    at_ += address_bytes;
    integer(host.port);
  }

  std::byte* at() const { return at_; }

 private:
  std::byte* at_;
};

}  // namespace

Result<void> RecordEncoder::prepare(const Message& message, const Host& default_host,
                                    bool record_crc, const RecordLimits& limits) {
  record_bytes_ = 0;
  KEROLOX_RETURN_IF_ERROR(check_message(message, limits));
  KEROLOX_RETURN_IF_ERROR(encode_tail(message, record_crc));

  const Host& born_host = message.born_host ? *message.born_host : default_host;
  const Host& store_host = message.store_host ? *message.store_host : default_host;
  encode_head(message, born_host, store_host);

  const std::size_t bytes = head_bytes_ + body_.size() + tail_bytes_;
  if (std::cmp_greater(bytes, std::numeric_limits<std::int32_t>::max())) {
    return invalid("the record is too large", bytes, "bytes");
  }
  store_big_endian(head_.data() + format::kTotalSizeAt, static_cast<std::int32_t>(bytes));
  record_bytes_ = static_cast<std::int64_t>(bytes);
  return {};
}

Result<void> RecordEncoder::encode_tail(const Message& message, bool record_crc) {
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t property_bytes_most, checked_property_bytes(message));
  if (property_bytes_most > kPropertyBytesRead) {
    return properties_too_long(property_bytes_most);
  }
  const bool version2 = message.topic.size() > kTopicBytesMaxV1;
  const std::size_t topic_bytes = (version2 ? 2 : 1) + message.topic.size();
  const std::size_t bytes_most = topic_bytes + 2 + property_bytes_most + 1 + kRecordCrcBytes;
  if (tail_.size() < bytes_most) {
    tail_.resize(bytes_most);
  }

  Cursor topic(tail_.data());
  if (version2) {
    topic.integer(static_cast<std::int16_t>(message.topic.size()));
  } else {
    topic.integer(static_cast<std::int8_t>(message.topic.size()));
  }
  topic.text(message.topic);

  char* const begin = reinterpret_cast<char*>(topic.at() + 2);
  char* end = write_properties(message, begin);
  if (end - begin > static_cast<std::ptrdiff_t>(kPropertiesBytesMax)) {
    return properties_too_long(static_cast<std::size_t>(end - begin));
  }
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  waits_ = find_property(text, property::kWait) != "false";

  // W18: without the separator the checksum would become part of the last value.
  const bool ended = text.empty() || text.back() == kPropertyEnd;
  record_crc_ = record_crc && text.size() + !ended + kRecordCrcBytes <= kPropertiesBytesMax;
  if (record_crc_) {
    if (!ended) {
      *end++ = kPropertyEnd;
    }
    std::memcpy(end, format::kCrcName.data(), format::kCrcName.size());
    end += kRecordCrcBytes;
    end[-1] = kPropertyEnd;
  }
  topic.integer(static_cast<std::int16_t>(end - begin));
  tail_bytes_ = topic_bytes + 2 + static_cast<std::size_t>(end - begin);
  return {};
}

void RecordEncoder::encode_head(const Message& message, const Host& born_host,
                                const Host& store_host) {
  const bool version2 = message.topic.size() > kTopicBytesMaxV1;
  const std::int32_t flags = (message.sys_flag & ~kHostFlags) |
                             (born_host.v6 ? sys_flag::kBornHostV6 : 0) |
                             (store_host.v6 ? sys_flag::kStoreHostV6 : 0);
  body_ = message.body;
  takes_queue_offset_ = sys_flag::takes_queue_offset(flags);
  born_at_store_time_ = message.born_timestamp_ms == 0;

  Cursor head(head_.data());
  head.integer(std::int32_t{0});  // the size, once it is known
  head.integer(version2 ? kMagicV2 : kMagicV1);
  head.integer(crc31(body_));
  head.integer(message.queue.value);
  head.integer(message.flag);
  head.integer(std::int64_t{0});  // queue offset and
  head.integer(std::int64_t{0});  // physical offset: see finish()
  head.integer(flags);
  head.integer(message.born_timestamp_ms);
  head.host(born_host);
  store_timestamp_at_ = static_cast<std::size_t>(head.at() - head_.data());
  head.integer(std::int64_t{0});
  head.host(store_host);
  head.integer(message.reconsume_times);
  head.integer(message.prepared_transaction_offset.value);
  head.integer(static_cast<std::uint32_t>(body_.size()));
  head_bytes_ = static_cast<std::size_t>(head.at() - head_.data());
}

std::array<std::span<const std::byte>, 3> RecordEncoder::finish(const RecordPlace& place) {
  KEROLOX_CHECK(record_bytes_ > 0);  // prepare() succeeded
  const std::int64_t queue_offset = takes_queue_offset_ ? place.queue_offset.value : 0;
  store_big_endian(head_.data() + format::kQueueOffsetAt, queue_offset);
  store_big_endian(head_.data() + format::kPhysicalOffsetAt, place.offset.value);
  store_big_endian(head_.data() + store_timestamp_at_, place.store_timestamp_ms);
  if (born_at_store_time_) {
    store_big_endian(head_.data() + format::kBornTimestampAt, place.store_timestamp_ms);
  }
  const std::span<const std::byte> head(head_.data(), head_bytes_);
  const std::span<std::byte> tail(tail_.data(), tail_bytes_);
  if (record_crc_) {
    std::uint32_t crc = crc32_continue(0, head);
    crc = crc32_continue(crc, body_);
    crc = crc32_continue(crc, tail.first(tail_bytes_ - kRecordCrcBytes));
    format::write_crc_digits(crc & kCrc31Mask,
                             tail.last<format::kCrcDigits + 1>().first<format::kCrcDigits>());
  }
  return {head, body_, tail};
}

std::array<std::byte, 8> encode_blank(std::int64_t remaining) {
  KEROLOX_CHECK(remaining >= kBlankBytesMin);
  KEROLOX_CHECK(remaining <= std::numeric_limits<std::int32_t>::max());
  std::array<std::byte, 8> blank;
  store_big_endian(blank.data(), static_cast<std::int32_t>(remaining));
  store_big_endian(blank.data() + format::kMagicAt, kMagicBlank);
  return blank;
}

}  // namespace kerolox::storage
