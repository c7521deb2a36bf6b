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
  bool java_wrote = false;
  PhysicalOffset min_offset;
  PhysicalOffset scanned_from;
  PhysicalOffset end;
  LogEnd end_kind = LogEnd::kEmpty;
  PhysicalOffset last_record{-1};  // begin of the record that ends at `end`
  std::int64_t last_store_timestamp_ms = 0;
  std::int64_t records_scanned = 0;
  std::int64_t records_v2 = 0;  // among those scanned
  // One past the last byte that may ever have been written.
  PhysicalOffset written_limit;
  std::vector<NextQueueOffset> queue_offsets;  // at `end`
  std::vector<DamagedRange> damaged;  // below the recorded synced offset; seen by this scan
};

Result<LogSurvey> survey_log(const RecoveryInput& input, FileSystem& file_system);

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
Result<RecoveredLog> recover_log(const RecoveryInput& input, CheckpointFiles& checkpoints,
                                 FileSystem& file_system, const Clock& clock);

}  // namespace kerolox::storage
