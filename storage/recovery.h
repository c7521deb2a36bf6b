// From whatever the last run left to a log that ends with a whole record and zeros behind it.
// Rules: storage/FORMAT.md, section "Recovery". Promises P1 and P6.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "kerolox/base/clock.h"
#include "kerolox/base/file_system.h"
#include "kerolox/base/log.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/queue_offsets.h"
#include "kerolox/storage/recovery_report.h"
#include "storage/checkpoint.h"
#include "storage/log_layout.h"
#include "storage/log_scanner.h"

namespace kerolox::storage {

struct RecoveryInput {
  std::filesystem::path directory;
  std::vector<std::filesystem::path> log_directories;
  std::int64_t file_bytes = 0;  // as CommitLogOptions
  QueueOffsetSource* queue_offsets = nullptr;
  LogCallback log;
};

// Where the log ends and why: found by reading alone. ReadOnlyLog shows a store as of this.
struct LogSurvey {
  LogLayout layout;
  std::optional<Checkpoint> checkpoint;  // ours, if it still describes the log
  bool checkpoint_void = false;          // there was one, but the log has moved on without us
  bool java_wrote = false;               // since we last did, or we never did
  bool clean_stop = false;               // whoever wrote last closed the store
  PhysicalOffset min_offset;
  PhysicalOffset scanned_from;
  PhysicalOffset end;
  LogEnd end_kind = LogEnd::kEmpty;
  PhysicalOffset last_record{
      -1};  // begin of the record that ends at `end`; -1: a file begins there
  std::uint64_t last_record_hash = 0;
  std::int64_t last_store_timestamp_ms = 0;
  std::int64_t records_scanned = 0;
  std::int64_t records_v2 = 0;  // among those scanned
  std::uint64_t digest = 0;     // of those scanned; see ScanResult
  // One past the last byte that may ever have been written.
  PhysicalOffset written_limit;
  ScanRules rules;                             // by which it was scanned, its own ranges among them
  std::vector<NextQueueOffset> queue_offsets;  // at `end`
  std::vector<DamagedRange> damaged;           // rot that this scan has seen, not yet recorded
  // The begin of a file that must have been there: it held what the checkpoint records as synced,
  // or it lies between others. Opening refuses to go on without it unless `missing_is_end`: then
  // nothing behind it has ever been synced, and the log ends there.
  std::optional<PhysicalOffset> missing_file;
  bool missing_is_end = false;
  bool missing_was_synced = false;  // the checkpoint says that it held bytes that were on disk
};

// Changes nothing. A missing folder is an empty log. Errors: as read_log_layout() and
// CheckpointFiles::load(), and those of the queue offset source.
Result<LogSurvey> survey_log(const RecoveryInput& input, FileSystem& file_system);
// With the checkpoint that the caller has loaded; `damaged_copies` as CheckpointFiles says.
Result<LogSurvey> survey_log(const RecoveryInput& input, std::optional<Checkpoint> loaded,
                             int damaged_copies, FileSystem& file_system);

// What the live log goes on from. Its checkpoint has been saved: synced = written_limit = end,
// clean.
struct RecoveredLog {
  LogLayout layout;  // file_bytes may be 0: an empty store
  Checkpoint checkpoint;
  RecoveryReport report;
};

// Surveys, then: syncs what lies above the recorded synced offset and proves by direct reads that
// the disk holds what memory shows (else rewrites and syncs it); saves the bytes behind the end
// under `kerolox/cut`, zeroes them, syncs; removes files behind the end; saves the checkpoint. A
// crash at any point leaves a store that recovers to the same end. The store's lock must be held.
// Errors: survey_log()'s; kCorruption if a file is missing whose bytes were synced, or in the
// middle; kNoSpace where the cut part cannot be saved; kIoError, kPermission. After an error
// nothing that is part of the log has changed.
Result<RecoveredLog> recover_log(const RecoveryInput& input, CheckpointFiles& checkpoints,
                                 FileSystem& file_system, const Clock& clock);

}  // namespace kerolox::storage
