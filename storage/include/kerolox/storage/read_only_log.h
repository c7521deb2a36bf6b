// A log that is looked at and not changed by a byte: by inspection, verification and export, also
// while another process writes it, and of stores that Java wrote.
//
// It shows what recovery would keep: it ends where open() of a CommitLog would end it. Reads go
// through plain read calls, so that a file that vanishes or shrinks meanwhile is an error, not a
// crash. Threads: one at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/message.h"
#include "kerolox/storage/queue_offsets.h"
#include "kerolox/storage/read_batch.h"
#include "kerolox/storage/recovery_report.h"

namespace kerolox::storage {

struct ReadOnlyLogOptions {
  std::filesystem::path directory{};  // as in CommitLogOptions
  std::vector<std::filesystem::path> log_directories{};
  std::vector<std::filesystem::path> read_only_log_directories{};
};

struct LogFileInfo {
  std::filesystem::path path;
  PhysicalOffset base;
  std::int64_t bytes = 0;
  std::int64_t allocated_bytes = 0;
};

// What a store says about itself, gathered without its lock.
struct StoreInfo {
  std::vector<LogFileInfo> files;
  std::int64_t file_bytes = 0;        // 0: no file yet
  std::int64_t queue_file_bytes = 0;  // 0: not known
  std::int64_t index_slots = 0;       // 0: not known
  PhysicalOffset min_offset;
  PhysicalOffset end;             // where the records end now
  PhysicalOffset flushed_offset;  // recorded as synced; min_offset in a store of Java's
  // Name of a log file that is missing and held records that were recorded as synced: opening for
  // writing refuses, since what follows `end` is lost. Empty: none.
  std::string lost_file;
  LogEnd end_kind = LogEnd::kEmpty;
  LastWriter last_writer = LastWriter::kNobody;
  bool abort_file = false;
  bool locked = false;  // a process has it open for writing
  std::string owner;    // who has, or had: pid, host, start; empty if unknown
  bool clean_stop = false;
  bool record_crc = false;      // in what we write
  std::int64_t records_v2 = 0;  // records that 4.9 cannot read
  std::vector<DamagedRange> quarantine;
  // Why a Java broker of that line must not open it now; empty: it may.
  std::vector<std::string> unfit_for_java_49;
  std::vector<std::string> unfit_for_java_5;
};

class KEROLOX_API ReadOnlyLog {
 public:
  // Errors: kNotFound, kPermission, kUnsupported, kCorruption, kIoError; as CommitLog::open().
  static Result<std::unique_ptr<ReadOnlyLog>> open(ReadOnlyLogOptions options,
                                                   FileSystem& file_system);

  virtual ~ReadOnlyLog() = default;

  virtual PhysicalOffset min_offset() const = 0;
  virtual PhysicalOffset end() const = 0;
  virtual std::int64_t file_bytes() const = 0;

  // As CommitLog::read().
  virtual Result<void> read(PhysicalOffset offset, std::int32_t count_max, std::int64_t bytes_max,
                            ReadBatch& batch) = 0;

  // Walks all records. `progress` (may be empty) is told the offset reached now and then.
  virtual Result<StoreInfo> info(const std::function<void(PhysicalOffset)>& progress) = 0;
};

}  // namespace kerolox::storage
