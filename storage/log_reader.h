// Sequential reading of validated records out of any row of log files: live, read-only, or under
// recovery.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/read_batch.h"
#include "storage/checkpoint.h"

namespace kerolox::storage {

// Access to the bytes of a log, by physical offset.
class LogBytes {
 public:
  virtual ~LogBytes() = default;

  // `bytes_wanted` bytes from `offset`: fewer at the end of a file, none if there is no such file;
  // more if it has them at hand anyway. Either read into `buffer` (grown as needed) or lent, with
  // what keeps them alive in `pin`. Errors: kIoError, kPermission.
  virtual Result<std::span<const std::byte>> bytes_at(PhysicalOffset offset,
                                                      std::int64_t bytes_wanted,
                                                      std::vector<std::byte>& buffer,
                                                      std::shared_ptr<const void>& pin) = 0;
};

struct LogReadLimits {
  PhysicalOffset min;  // first byte kept
  PhysicalOffset end;  // nothing at or above is looked at
  std::int64_t file_bytes = 0;
  std::int32_t count_max = 0;
  std::int64_t bytes_max = 0;
  std::span<const OwnRange> own_ranges;  // where a `__CRC32#` must match
};

class LogReader {
 public:
  // Fills `batch` from `offset`. Skips blanks. Where a record is damaged it goes on at the next
  // valid record (by the chain of sizes if that is whole, else by search for one that fits its
  // place) and lists the damage in the batch. A batch ends before damage; the next one begins with
  // it. A batch is empty only at `end`, behind damage that reaches to it, or with a count of 0.
  // Errors: kOutOfRange (min and end in it), kIoError.
  static Result<void> read(LogBytes& bytes, PhysicalOffset offset, const LogReadLimits& limits,
                           ReadBatch& batch);
  // Takes what reaches over `end` out of the batch again, which was read from `begin`.
  static void trim(ReadBatch& batch, PhysicalOffset begin, PhysicalOffset end);

 private:
  class Filling;
};

// Whether all of [offset, offset + bytes) lies in one of the ranges.
bool within(std::span<const OwnRange> ranges, PhysicalOffset offset, std::int64_t bytes);

// Whether a record, whole or damaged, begins at `offset`: as far as the records in front of it in
// its file tell. How damage is told from a wrong question where a read meets it first thing.
// Reads the file up to `offset`.
Result<bool> record_begins_at(LogBytes& bytes, PhysicalOffset offset, const LogReadLimits& limits);

// The first offset in [from, end) where a record begins that is valid at its place, within one
// file; nothing if there is none. How reading goes on behind a destroyed header.
Result<std::optional<PhysicalOffset>> find_record(LogBytes& bytes, PhysicalOffset from,
                                                  PhysicalOffset end, std::int64_t file_bytes);

}  // namespace kerolox::storage
