// The open log's checkpoint: what recovery found, kept up to date and saved.
//
// Threads: any; saves come one at a time. Blocking: everything that saves waits for the disk.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kerolox/base/mutex.h"
#include "kerolox/base/result.h"
#include "storage/checkpoint.h"
#include "storage/queue_offset_table.h"

namespace kerolox::storage {

// The log at one moment, whole records only; taken inside the append's critical section.
struct LogSnapshot {
  PhysicalOffset min_offset;
  PhysicalOffset end;
  PhysicalOffset written_end;  // one past the last byte, of a part of a record too
  PhysicalOffset last_record{-1};
  std::int32_t last_record_bytes = 0;
  std::int64_t last_store_timestamp_ms = 0;
  bool has_v2_records = false;
  std::optional<PhysicalOffset> own_begin;  // this run's own records go from here to the end
  std::vector<QueueOffsetTable::Change> changes;
};

// How far beyond the log's end the limit is raised, and, as half of it, how near the log's end may
// come before it is raised again in the background.
inline constexpr std::int64_t kLimitStepBytes = std::int64_t{128} << 20;

class CheckpointKeeper {
 public:
  CheckpointKeeper(CheckpointFiles files, Checkpoint recovered);

  // As saved: no byte at or above has been written or may be, until raise_limit() has succeeded.
  PhysicalOffset written_limit() const { return PhysicalOffset{limit_.load()}; }
  // `own_begin`: this run's own records begin there; nothing: as known.
  Result<void> raise_limit(PhysicalOffset limit,
                           std::optional<PhysicalOffset> own_begin = std::nullopt);

  // Ends this run's own range where the recorded end is, since what follows is another's.
  Result<void> end_own_range();

  // Records that everything below the snapshot's end is on disk, which the caller has seen to;
  // `last_record_hash` is the XXH3-64 of the last record.
  Result<void> save(const LogSnapshot& snapshot, std::uint64_t last_record_hash, bool clean);
  // The same, and that whatever lies above must go; until finish_cut().
  Result<void> begin_cut(const LogSnapshot& snapshot, std::uint64_t last_record_hash);
  Result<void> finish_cut();

  // What Java's two files held when we last wrote them.
  void set_java_files(std::uint64_t checkpoint_hash, std::int64_t abort_pid);

  // Saved with the next checkpoint. False: it was known.
  bool add_quarantine(const DamagedRange& range);
  std::vector<DamagedRange> quarantine() const;
  // Ranges in which a `__CRC32#` is ours; this run's last one is open-ended.
  std::shared_ptr<const std::vector<OwnRange>> own_ranges() const;

  PhysicalOffset synced() const;
  std::int64_t saves() const { return saves_.load(); }

 private:
  void apply(const LogSnapshot& snapshot, std::uint64_t last_record_hash) KEROLOX_REQUIRES(mutex_);
  // With this run's range, up to `end`.
  void close_ranges_at(PhysicalOffset end) KEROLOX_REQUIRES(mutex_);
  Result<void> write() KEROLOX_REQUIRES(mutex_);

  std::atomic<std::int64_t> limit_;
  std::atomic<std::int64_t> saves_{0};
  mutable Mutex mutex_;
  CheckpointFiles files_ KEROLOX_GUARDED_BY(mutex_);
  Checkpoint checkpoint_ KEROLOX_GUARDED_BY(mutex_);
  std::vector<OwnRange> earlier_ranges_ KEROLOX_GUARDED_BY(mutex_);  // of earlier runs
  std::optional<PhysicalOffset> own_begin_ KEROLOX_GUARDED_BY(mutex_);
  // A copy of checkpoint_.own_ranges that readers share.
  std::shared_ptr<const std::vector<OwnRange>> shared_ranges_ KEROLOX_GUARDED_BY(mutex_);
  // Where in checkpoint_.queue_offsets a queue is, by the address of its topic in the table.
  std::unordered_map<const std::string*, std::size_t> places_ KEROLOX_GUARDED_BY(mutex_);
};

}  // namespace kerolox::storage
