// Records of the commit log as bytes, in both directions.
// Bytes on disk: storage/FORMAT.md, sections "Record" and "Blank".
//
// Encoding is split where the log's critical section falls: RecordEncoder does all that does not
// depend on the record's place before it, and finishes header and checksum after it. The body is
// never copied here: a record is three pieces, to be copied into the log side by side.
//
// Threads: an encoder belongs to one thread at a time; functions are pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/message.h"

namespace kerolox::storage {

inline constexpr std::uint32_t kMagicV1 = 0xDAA320A7;
inline constexpr std::uint32_t kMagicV2 = 0xDAA320AB;
inline constexpr std::uint32_t kMagicBlank = 0xCBD43194;
inline constexpr std::int64_t kBlankBytesMin = 8;    // a record must leave room for one behind it
inline constexpr std::int64_t kRecordBytesMin = 91;  // IPv4 hosts, nothing else
inline constexpr std::size_t kRecordCrcBytes = 20;   // `__CRC32#`, 0x01, ten digits, 0x02

// CRC-32 of IEEE 802.3, its top bit cleared: bodies and records. 0 for no bytes.
KEROLOX_API std::uint32_t crc31(std::span<const std::byte> bytes);

struct RecordLimits {
  std::int64_t body_bytes_max = kBodyBytesMaxDefault;

  // Whether any topic may have up to kTopicBytesMax bytes, not only names that begin with "%RETRY%"
  // or "%DLQ%". Java's bare store takes such names, its broker does not: leave it off for users.
  bool allow_long_topics = false;
};

// Where a record goes; known only inside the append's critical section.
struct RecordPlace {
  PhysicalOffset offset;
  QueueOffset queue_offset;  // stored as 0 for prepared and rollback records
  std::int64_t store_timestamp_ms = 0;
};

class KEROLOX_API RecordEncoder {
 public:
  // Checks `message` and encodes what does not depend on its place; borrows its body and topic
  // until the record has been copied. `default_host` stands in for hosts that the message leaves
  // out. With `record_crc` a `__CRC32#` property is appended, unless properties leave no room for
  // its 20 bytes (then the record goes without). May be called again for the next message: buffers
  // are kept, so that steady use allocates nothing. Errors: kInvalidArgument: a topic that is
  // empty, too long or has characters outside [A-Za-z0-9%_|-]; a body over the limit; properties
  // that are malformed or too long; a negative queue id; encoded_properties beside the others;
  // invalid compression bits.
  Result<void> prepare(const Message& message, const Host& default_host, bool record_crc,
                       const RecordLimits& limits);

  std::int64_t record_bytes() const { return record_bytes_; }
  // Whether the record takes a place in its queue: prepared and rollback records do not.
  bool takes_queue_offset() const { return takes_queue_offset_; }
  bool waits() const { return waits_; }  // false: its property WAIT is "false"

  // Patches the place in, computes the record's checksum, and returns the pieces that, one after
  // the other, are the record. Valid until the next prepare().
  std::array<std::span<const std::byte>, 3> finish(const RecordPlace& place);

 private:
  Result<void> encode_tail(const Message& message, bool record_crc);
  void encode_head(const Message& message, const Host& born_host, const Host& store_host);

  std::array<std::byte, 112> head_{};  // up to and including the body length; 88 to 112 bytes used
  std::size_t head_bytes_ = 0;
  std::span<const std::byte> body_;
  std::vector<std::byte> tail_;  // topic and properties, with their lengths; longer than used
  std::size_t tail_bytes_ = 0;
  std::int64_t record_bytes_ = 0;
  std::size_t store_timestamp_at_ = 0;
  bool record_crc_ = false;
  bool born_at_store_time_ = false;
  bool takes_queue_offset_ = true;
  bool waits_ = true;
};

// The eight bytes that end a file `remaining` bytes before its end.
KEROLOX_API std::array<std::byte, 8> encode_blank(std::int64_t remaining);

// What stands at a place of the log.
enum class RecordKind : std::uint8_t {
  kRecord,      // a whole, valid record
  kBlank,       // the rest of the file is unused
  kZero,        // eight zero bytes: nothing was written here
  kIncomplete,  // it says that it is longer than the bytes at hand
  kInvalid,     // anything else
};

struct RecordCheck {
  // Compare the stored physical offset with the place. Nothing: do not (a record out of its log).
  std::optional<PhysicalOffset> expected_offset;
  bool body_crc = true;
  // A `__CRC32#` as the last 20 bytes must match. Only in ranges that we wrote ourselves: a Java
  // broker copies the property when it appends a message again, and leaves it stale.
  bool record_crc = false;
};

struct DecodedRecord {
  RecordKind kind = RecordKind::kInvalid;
  MessageView view;        // for kRecord
  std::int64_t bytes = 0;  // kRecord: its size; kBlank: its size field; kIncomplete: the size it
                           // claims, whatever follows; else 0
  const char* fault = "";  // for kInvalid: which rule it breaks, in a few words
};

// Decodes and validates what `bytes` begins with. Never reads outside `bytes`, never allocates,
// believes no length that does not fit them (W11).
KEROLOX_API DecodedRecord decode_record(std::span<const std::byte> bytes, const RecordCheck& check);

// The size and magic alone, for walking a log quickly: kRecord here means only "plausible head".
KEROLOX_API DecodedRecord decode_head(std::span<const std::byte> bytes);

// Whether the record ends in a `__CRC32#` property, and whether that matches.
KEROLOX_API bool has_record_crc(std::span<const std::byte> record);
KEROLOX_API bool record_crc_matches(std::span<const std::byte> record);

}  // namespace kerolox::storage
