#include <bit>
#include <cstring>
#include <utility>

#include "kerolox/base/endian.h"
#include "kerolox/storage/record.h"
#include "storage/crc31.h"
#include "storage/record_format.h"

namespace kerolox::storage {
namespace {

namespace format = record_format;

DecodedRecord invalid(const char* fault) {
  DecodedRecord decoded;
  decoded.fault = fault;
  return decoded;
}

const char* chars(const std::byte* at) { return reinterpret_cast<const char*>(at); }

// Returns what follows the host.
const std::byte* load_host(const std::byte* at, bool v6, Host& host) {
  host.v6 = v6;
  if (v6) {
    std::memcpy(host.address.data(), at, 16);
    at += 16;
  } else {
    std::memcpy(host.address.data(), at, 4);
    at += 4;
  }
  host.port = load_big_endian<std::int32_t>(at);
  return at + 4;
}

// Number of bits in which the record's last bytes differ from `__CRC32#` 0x01 <digits> 0x02.
int crc_frame_distance(std::span<const std::byte> record) {
  const std::byte* const at = record.data() + record.size() - kRecordCrcBytes;
  std::uint64_t name = 0;
  std::uint64_t wanted = 0;
  std::memcpy(&name, at, sizeof name);
  std::memcpy(&wanted, format::kCrcName.data(), sizeof wanted);
  const auto name_end = std::to_integer<unsigned>(at[8] ^ std::byte{1});
  const auto value_end = std::to_integer<unsigned>(at[19] ^ std::byte{2});
  if (((name ^ wanted) | name_end | value_end) == 0) [[likely]] {
    return 0;  // without a processor's popcount, counting is slow
  }
  return std::popcount(name ^ wanted) + std::popcount(name_end) + std::popcount(value_end);
}

bool crc_digits_match(std::span<const std::byte> record) {
  const auto digits = record.last<format::kCrcDigits + 1>().first<format::kCrcDigits>();
  return format::crc_digits_are(crc31(record.first(record.size() - kRecordCrcBytes)), digits);
}

bool may_hold_record_crc(std::span<const std::byte> record) {
  return record.size() >= static_cast<std::size_t>(kRecordBytesMin) + kRecordCrcBytes;
}

// A record may lack the property, where there was no room for it. So a name that is nearly right
// must be told from another property, lest a bit that flips in the name switches the check off
// (W1): if the digits are right, they cannot be there by chance.
bool record_crc_is_damaged(std::span<const std::byte> record) {
  constexpr int kNearlyRight = 4;
  if (!may_hold_record_crc(record)) {
    return false;
  }
  const int distance = crc_frame_distance(record);
  if (distance > kNearlyRight) {
    return false;
  }
  return crc_digits_match(record) != (distance == 0);
}

// Fills `view` from the fixed fields; returns the first byte behind the body length.
const std::byte* load_head(const std::byte* at, MessageView& view) {
  view.body_crc = load_big_endian<std::uint32_t>(at + format::kBodyCrcAt);
  view.queue.value = load_big_endian<std::int32_t>(at + format::kQueueIdAt);
  view.flag = load_big_endian<std::int32_t>(at + format::kFlagAt);
  view.queue_offset.value = load_big_endian<std::int64_t>(at + format::kQueueOffsetAt);
  view.offset.value = load_big_endian<std::int64_t>(at + format::kPhysicalOffsetAt);
  view.sys_flag = load_big_endian<std::int32_t>(at + format::kSysFlagAt);
  view.born_timestamp_ms = load_big_endian<std::int64_t>(at + format::kBornTimestampAt);
  at = load_host(at + format::kBornHostAt, (view.sys_flag & sys_flag::kBornHostV6) != 0,
                 view.born_host);
  view.store_timestamp_ms = load_big_endian<std::int64_t>(at);
  at = load_host(at + 8, (view.sys_flag & sys_flag::kStoreHostV6) != 0, view.store_host);
  view.reconsume_times = load_big_endian<std::int32_t>(at);
  view.prepared_transaction_offset.value = load_big_endian<std::int64_t>(at + 4);
  return at + 16;
}

// Decodes `view.record`, which is as long as its size field says. Returns which rule it breaks, or
// null.
const char* decode_fields(MessageView& view) {
  const std::byte* const begin = view.record.data();
  const std::size_t size = view.record.size();
  const auto flags = load_big_endian<std::int32_t>(begin + format::kSysFlagAt);
  const std::size_t v6_hosts = static_cast<std::size_t>((flags & sys_flag::kBornHostV6) != 0) +
                               static_cast<std::size_t>((flags & sys_flag::kStoreHostV6) != 0);
  const std::size_t topic_length_bytes = view.version == 1 ? 1 : 2;
  const std::size_t fixed = format::kBeforeBodyBytes +
                            v6_hosts * (format::kHostBytesV6 - format::kHostBytesV4) +
                            topic_length_bytes + 2;
  if (size < fixed) {
    return "the size is smaller than the fixed fields";
  }
  const std::byte* at = load_head(begin, view);
  std::size_t variable = size - fixed;  // for body, topic and properties

  const auto body_bytes = load_big_endian<std::uint32_t>(at - 4);  // negative: too large
  if (body_bytes > variable) {
    return "the body length does not fit the size";
  }
  view.body = {at, body_bytes};
  variable -= body_bytes;
  at += body_bytes;

  const std::int32_t topic_bytes =
      view.version == 1 ? load_big_endian<std::int8_t>(at) : load_big_endian<std::int16_t>(at);
  if (topic_bytes < 0 || static_cast<std::size_t>(topic_bytes) > variable) {
    return "the topic length does not fit the size";
  }
  at += topic_length_bytes;
  view.topic = {chars(at), static_cast<std::size_t>(topic_bytes)};
  variable -= static_cast<std::size_t>(topic_bytes);
  at += topic_bytes;

  const auto property_bytes = load_big_endian<std::int16_t>(at);
  if (property_bytes < 0 || static_cast<std::size_t>(property_bytes) != variable) {
    return "the size is not the sum of the parts";
  }
  view.properties = {chars(at + 2), variable};
  return nullptr;
}

}  // namespace

DecodedRecord decode_head(std::span<const std::byte> bytes) {
  if (bytes.size() < format::kHeadBytes) {
    return invalid("fewer than eight bytes are left");
  }
  const auto size = load_big_endian<std::int32_t>(bytes.data());
  const auto magic = load_big_endian<std::uint32_t>(bytes.data() + format::kMagicAt);
  DecodedRecord decoded;
  if (magic == kMagicV1 || magic == kMagicV2) [[likely]] {
    const std::int64_t version = magic == kMagicV1 ? 1 : 2;
    if (size < kRecordBytesMin + version - 1) {
      return invalid("the size is smaller than any record");
    }
    decoded.kind =
        std::cmp_greater(size, bytes.size()) ? RecordKind::kIncomplete : RecordKind::kRecord;
    decoded.bytes = size;
    decoded.view.version = static_cast<std::int32_t>(version);
    decoded.view.record_bytes = size;
  } else if (magic == kMagicBlank) {
    if (size < kBlankBytesMin) {
      return invalid("the size of a blank is smaller than eight bytes");
    }
    decoded.kind = RecordKind::kBlank;
    decoded.bytes = size;
  } else if (size == 0 && magic == 0) {
    decoded.kind = RecordKind::kZero;
  } else {
    decoded.fault = "the magic number is unknown";
  }
  return decoded;
}

DecodedRecord decode_record(std::span<const std::byte> bytes, const RecordCheck& check) {
  DecodedRecord decoded = decode_head(bytes);
  if (decoded.kind != RecordKind::kRecord) {
    return decoded;
  }
  MessageView& view = decoded.view;
  view.record = bytes.first(static_cast<std::size_t>(decoded.bytes));
  if (const char* fault = decode_fields(view)) {
    return invalid(fault);
  }
  if (check.expected_offset && *check.expected_offset != view.offset) {
    return invalid("the stored physical offset is not its place");
  }
  if (check.body_crc && !view.body.empty() && crc31(view.body) != view.body_crc) {
    return invalid("the body checksum is wrong");
  }
  if (check.record_crc && record_crc_is_damaged(view.record)) {
    return invalid("the record checksum is wrong");
  }
  return decoded;
}

bool has_record_crc(std::span<const std::byte> record) {
  return may_hold_record_crc(record) && crc_frame_distance(record) == 0;
}

bool record_crc_matches(std::span<const std::byte> record) {
  return has_record_crc(record) && crc_digits_match(record);
}

}  // namespace kerolox::storage
