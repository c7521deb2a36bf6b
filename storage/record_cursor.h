// What stands at a place of a log: decoding, plus the rules that tie a record to its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/record.h"
#include "storage/checkpoint.h"
#include "storage/log_reader.h"

namespace kerolox::storage {

// The first byte behind the file that holds `offset`. Bases are multiples of the size.
constexpr PhysicalOffset file_end_of(PhysicalOffset offset, std::int64_t file_bytes) {
  return PhysicalOffset{offset.value - offset.value % file_bytes} + file_bytes;
}

// decode_record(), and: with `record_crc` a record that has room for a `__CRC32#` has one; a record
// leaves room for a blank in its file, a blank reaches exactly to
// its end. `rest` is the distance to the file's end, `bytes` what is at hand of it. kIncomplete
// only where the rest of the file could hold the record.
DecodedRecord decode_at(std::span<const std::byte> bytes, PhysicalOffset place, std::int64_t rest,
                        bool record_crc);

// Looks at one place after the other. Memory: a window, and more only for a record whose lengths,
// at both of its ends, agree that it is larger (W11).
class RecordCursor {
 public:
  // Nothing at or above `end` is looked at; `bytes` and `own_ranges` must outlive it.
  RecordCursor(LogBytes& bytes, std::int64_t file_bytes, PhysicalOffset end,
               std::span<const OwnRange> own_ranges);

  // kRecord, kBlank, kZero or kInvalid. The view is valid until the next call. A place without a
  // file is kInvalid.
  Result<DecodedRecord> at(PhysicalOffset place);

  // The bytes at `place`, at least `count` of them unless the file or the log ends before.
  Result<std::span<const std::byte>> bytes_at(PhysicalOffset place, std::int64_t count);

 private:
  Result<DecodedRecord> decode_large(PhysicalOffset place, std::int64_t record_bytes);

  LogBytes& bytes_;
  std::int64_t file_bytes_;
  PhysicalOffset end_;
  std::span<const OwnRange> own_ranges_;
  std::vector<std::byte> buffer_;
  std::shared_ptr<const void> pin_;
  std::span<const std::byte> held_;
  PhysicalOffset held_begin_;
};

// Where reading goes on behind damage at `place`: at the next record that the chain of sizes leads
// to or that a search finds, or at the end of the file, or at `end`.
Result<PhysicalOffset> skip_damage(LogBytes& bytes, PhysicalOffset place, PhysicalOffset end,
                                   std::int64_t file_bytes);

}  // namespace kerolox::storage
