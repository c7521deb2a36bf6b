// What opening a log found and did.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/read_batch.h"

namespace kerolox::storage {

// Why the log ends where it ends. Told apart because each means something else to an operator.
enum class LogEnd : std::uint8_t {
  kEmpty,         // there is no log
  kClean,         // at the recorded end, nothing behind it
  kZeros,         // nothing was written behind the last record
  kTornRecord,    // the last record is incomplete or its bytes do not fit together
  kStaleRecord,   // a whole record that belongs to another place
  kAfterBlank,    // behind a blank, the next file is missing or holds nothing
  kMissingFile,   // a gap: a file is missing, later ones are there
  kForeignBytes,  // bytes that never were a record
};

KEROLOX_API std::string_view name(LogEnd end);

// Who wrote the bytes that this run found.
enum class LastWriter : std::uint8_t { kNobody, kKerolox, kJava };

struct RecoveryReport {
  PhysicalOffset min_offset;
  PhysicalOffset scanned_from;  // the recorded synced offset, or min_offset
  PhysicalOffset end;           // where the log now ends
  LogEnd end_kind = LogEnd::kEmpty;
  LastWriter last_writer = LastWriter::kNobody;
  bool clean_stop = false;         // the last run closed the log
  bool machine_restarted = false;  // since the last run (the boot id changed)
  std::int64_t records_scanned = 0;
  std::int64_t cut_bytes = 0;      // non-zero bytes behind the end, saved and zeroed
  std::filesystem::path cut_file;  // where they are, or empty
  std::int64_t rewritten_bytes =
      0;  // above the synced offset: the disk had lost what memory still held
  std::int64_t removed_files = 0;     // behind the end
  std::vector<DamagedRange> damaged;  // below the recorded synced offset
  std::chrono::milliseconds elapsed{0};
};

}  // namespace kerolox::storage
