#include "storage/record_cursor.h"

#include <algorithm>

#include "kerolox/base/endian.h"
#include "storage/record_format.h"

namespace kerolox::storage {
namespace {

namespace format = record_format;

constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20;

// Body length, topic and properties, with their lengths: the most that stands behind a body.
constexpr std::int64_t kBehindBodyBytesMax = 2 + 32767 + 2 + 32767;

DecodedRecord invalid(const char* fault) {
  DecodedRecord decoded;
  decoded.fault = fault;
  return decoded;
}

// Whether the length of the body that the record's head claims leaves, of `record_bytes`, what
// topic and properties can take; then `behind_body` is where they begin.
bool head_is_plausible(std::span<const std::byte> head, PhysicalOffset place,
                       std::int64_t record_bytes, std::int64_t& behind_body) {
  constexpr std::size_t kV6More = format::kHostBytesV6 - format::kHostBytesV4;
  if (head.size() < format::kBeforeBodyBytes + 2 * kV6More ||
      load_big_endian<std::int64_t>(head.data() + format::kPhysicalOffsetAt) != place.value) {
    return false;
  }
  const auto flags = load_big_endian<std::int32_t>(head.data() + format::kSysFlagAt);
  const std::size_t before_body = format::kBeforeBodyBytes +
                                  ((flags & sys_flag::kBornHostV6) != 0 ? kV6More : 0) +
                                  ((flags & sys_flag::kStoreHostV6) != 0 ? kV6More : 0);
  const auto body_bytes = load_big_endian<std::int32_t>(head.data() + before_body - 4);
  behind_body = static_cast<std::int64_t>(before_body) + body_bytes;
  return body_bytes >= 0 && behind_body < record_bytes &&
         record_bytes - behind_body <= kBehindBodyBytesMax;
}

// Whether topic and properties, with their lengths, are exactly `tail`.
bool tail_is_plausible(std::span<const std::byte> tail, int version) {
  const std::size_t length_bytes = version == 1 ? 1 : 2;
  if (tail.size() < length_bytes + 2) {
    return false;
  }
  const int topic_bytes = version == 1 ? load_big_endian<std::int8_t>(tail.data())
                                       : load_big_endian<std::int16_t>(tail.data());
  const std::size_t at = length_bytes + static_cast<std::size_t>(std::max(topic_bytes, 0));
  if (topic_bytes < 0 || at + 2 > tail.size()) {
    return false;
  }
  const auto property_bytes = load_big_endian<std::int16_t>(tail.data() + at);
  return property_bytes >= 0 && at + 2 + static_cast<std::size_t>(property_bytes) == tail.size();
}

// Our own records go without a `__CRC32#` only where their properties left no room for it. So its
// absence is damage, too: of a record whose last bytes never reached the disk.
bool lacks_its_checksum(const MessageView& record) {
  return record.properties.size() < kPropertiesBytesMax - kRecordCrcBytes &&
         !has_record_crc(record.record);
}

// Whether a record or blank begins at `place`, as far as its head tells: a record says where it
// stands.
bool head_fits(std::span<const std::byte> bytes, PhysicalOffset place, std::int64_t rest) {
  const DecodedRecord head = decode_head(bytes);
  if (head.kind == RecordKind::kBlank) {
    return head.bytes == rest;
  }
  return (head.kind == RecordKind::kRecord || head.kind == RecordKind::kIncomplete) &&
         bytes.size() >= format::kSysFlagAt && head.bytes + kBlankBytesMin <= rest &&
         load_big_endian<std::int64_t>(bytes.data() + format::kPhysicalOffsetAt) == place.value;
}

}  // namespace

DecodedRecord decode_at(std::span<const std::byte> bytes, PhysicalOffset place, std::int64_t rest,
                        bool record_crc) {
  DecodedRecord decoded =
      decode_record(bytes, {.expected_offset = place, .record_crc = record_crc});
  switch (decoded.kind) {
    case RecordKind::kRecord:
    case RecordKind::kIncomplete:
      if (decoded.bytes + kBlankBytesMin > rest) {
        return invalid("it says that it is longer than its file");
      }
      if (record_crc && decoded.kind == RecordKind::kRecord && lacks_its_checksum(decoded.view)) {
        return invalid("the record checksum is missing");
      }
      break;
    case RecordKind::kBlank:
      if (decoded.bytes != rest) {
        return invalid("a blank that does not reach to the end of its file");
      }
      break;
    case RecordKind::kZero:
    case RecordKind::kInvalid:
      break;
  }
  return decoded;
}

RecordCursor::RecordCursor(LogBytes& bytes, std::int64_t file_bytes, PhysicalOffset end,
                           std::span<const OwnRange> own_ranges)
    : bytes_(bytes), file_bytes_(file_bytes), end_(end), own_ranges_(own_ranges) {}

Result<std::span<const std::byte>> RecordCursor::bytes_at(PhysicalOffset place,
                                                          std::int64_t count) {
  const std::int64_t reach =
      std::max<std::int64_t>(std::min(end_, file_end_of(place, file_bytes_)) - place, 0);
  const auto needed = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, reach));
  if (place >= held_begin_ && place - held_begin_ < static_cast<std::int64_t>(held_.size())) {
    const auto held = held_.subspan(static_cast<std::size_t>(place - held_begin_));
    if (held.size() >= needed) {
      return held;
    }
  }
  held_ = {};
  const auto wanted = std::min(reach, std::max(static_cast<std::int64_t>(needed), kWindowBytes));
  KEROLOX_ASSIGN_OR_RETURN(held_, bytes_.bytes_at(place, wanted, buffer_, pin_));
  held_ = held_.first(std::min(held_.size(), static_cast<std::size_t>(reach)));
  held_begin_ = place;
  return held_;
}

Result<DecodedRecord> RecordCursor::at(PhysicalOffset place) {
  const PhysicalOffset file_end = file_end_of(place, file_bytes_);
  const std::int64_t rest = file_end - place;
  const std::int64_t reach = std::min(end_, file_end) - place;
  KEROLOX_ASSIGN_OR_RETURN(std::span<const std::byte> bytes,
                           bytes_at(place, static_cast<std::int64_t>(format::kHeadBytes)));
  if (bytes.empty()) {
    return invalid("there is no log file");
  }
  const DecodedRecord head = decode_head(bytes);
  if (head.bytes > reach && head.kind != RecordKind::kBlank) {
    return invalid("it says that it is longer than its file");
  }
  if (head.kind == RecordKind::kIncomplete) {
    if (head.bytes > kWindowBytes) {
      return decode_large(place, head.bytes);
    }
    KEROLOX_ASSIGN_OR_RETURN(bytes, bytes_at(place, head.bytes));
  }
  DecodedRecord decoded = decode_at(bytes, place, rest, within(own_ranges_, place, head.bytes));
  if (decoded.kind == RecordKind::kIncomplete) {
    return Error(ErrorCode::kIoError, "the log file has become shorter while it was read")
        .with_number("physical_offset", place.value);
  }
  return decoded;
}

Result<DecodedRecord> RecordCursor::decode_large(PhysicalOffset place, std::int64_t record_bytes) {
  constexpr std::int64_t kHeadBytes = 112;
  std::int64_t behind_body = 0;
  KEROLOX_ASSIGN_OR_RETURN(std::span<const std::byte> bytes, bytes_at(place, kHeadBytes));
  const int version = decode_head(bytes).view.version;
  if (!head_is_plausible(bytes, place, record_bytes, behind_body)) {
    return invalid("its lengths do not fit together");
  }
  const std::int64_t tail_bytes = record_bytes - behind_body;
  KEROLOX_ASSIGN_OR_RETURN(bytes, bytes_at(place + behind_body, tail_bytes));
  if (static_cast<std::int64_t>(bytes.size()) < tail_bytes ||
      !tail_is_plausible(bytes.first(static_cast<std::size_t>(tail_bytes)), version)) {
    return invalid("its lengths do not fit together");
  }
  KEROLOX_ASSIGN_OR_RETURN(bytes, bytes_at(place, record_bytes));
  DecodedRecord decoded = decode_at(bytes, place, file_end_of(place, file_bytes_) - place,
                                    within(own_ranges_, place, record_bytes));
  if (decoded.kind == RecordKind::kIncomplete) {
    return Error(ErrorCode::kIoError, "the log file has become shorter while it was read")
        .with_number("physical_offset", place.value);
  }
  return decoded;
}

Result<PhysicalOffset> skip_damage(LogBytes& bytes, PhysicalOffset place, PhysicalOffset end,
                                   std::int64_t file_bytes) {
  const PhysicalOffset file_end = file_end_of(place, file_bytes);
  const PhysicalOffset limit = std::min(end, file_end);
  RecordCursor cursor(bytes, file_bytes, end, {});
  KEROLOX_ASSIGN_OR_RETURN(std::span<const std::byte> at_hand, cursor.bytes_at(place, 8));
  if (at_hand.empty()) {
    return limit;
  }
  const DecodedRecord head = decode_head(at_hand);
  if ((head.kind == RecordKind::kRecord || head.kind == RecordKind::kIncomplete) &&
      head.bytes <= limit - place) {
    const PhysicalOffset next = place + head.bytes;
    if (next == end) {
      return next;
    }
    KEROLOX_ASSIGN_OR_RETURN(at_hand, cursor.bytes_at(next, kRecordBytesMin));
    if (head_fits(at_hand, next, file_end - next)) {
      return next;
    }
  }
  if (place + 1 >= limit) {
    return limit;
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<PhysicalOffset> found,
                           find_record(bytes, place + 1, end, file_bytes));
  return found.value_or(limit);
}

}  // namespace kerolox::storage
