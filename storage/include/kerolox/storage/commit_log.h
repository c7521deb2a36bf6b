// The commit log: every message of every topic, in the order in which the store accepted them.
// Bytes on disk: storage/FORMAT.md, section "Commit log".
//
// Threads:  every member may be called from any thread. With `threads` the log runs three of its
// own:
//           "kerolox-flush" syncs and runs completions, "kerolox-keep" prepares blocks, writes
//           checkpoints and serves reads by callback, "kerolox-timer" ends overdue waits. Without,
//           somebody calls run_once().
// Blocking: append() never waits for the disk, except that it gives the log its next blocks or file
//           itself where the preparing thread has fallen behind. What waits says so in its name.
// Memory:   fixed by `tickets_max` and the mappings of the newest two files.
// A failed write or sync of log data ends appends for good with kStoreFailed (P4); reads go on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/clock.h"
#include "kerolox/base/file_system.h"
#include "kerolox/base/log.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/append.h"
#include "kerolox/storage/level.h"
#include "kerolox/storage/message.h"
#include "kerolox/storage/queue_offsets.h"
#include "kerolox/storage/read_batch.h"
#include "kerolox/storage/recovery_report.h"

namespace kerolox::storage {

enum class FlushPolicy : std::uint8_t {
  kAsync,  // acknowledge from memory, sync within flush_interval and flush_bytes
  kSync,   // acknowledge after the sync; one sync serves everybody who waits (group commit)
};

inline constexpr std::int64_t kLogFileBytesDefault = std::int64_t{1} << 30;

struct KEROLOX_API CommitLogOptions {
  // The store's root: the log is in its `commitlog` folder, what Java does not know in `kerolox`.
  std::filesystem::path directory{};
  // Where log files are, if not in `directory`/commitlog. Several, or read_only_log_directories,
  // can be read but not written: open() says kUnsupported.
  std::vector<std::filesystem::path> log_directories{};
  std::vector<std::filesystem::path> read_only_log_directories{};

  bool create_if_missing = true;  // false: a directory without a store is kNotFound
  // Bytes per log file. 0: as the files that are there, or kLogFileBytesDefault in a new store.
  // Fixed once a file exists: another value than theirs is kInvalidArgument. At least 4 KiB.
  std::int64_t file_bytes = 0;

  // Bytes per consume queue file, a multiple of 20, and slots per index file. 0: as the store has
  // them, or RocketMQ's defaults in a new one. Recorded at creation and fixed from then on, as
  // file_bytes.
  std::int64_t queue_file_bytes = 0;
  std::int64_t index_slots = 0;

  FlushPolicy flush_policy = FlushPolicy::kSync;
  // What acknowledgements wait for on other machines; see set_replicated(). The confirm offset too.
  ReplicaLevel replica_level = ReplicaLevel::kNone;
  std::int32_t replica_count = 0;  // how many of them; at least 1 unless kNone

  // Where nobody waits for the disk: a sync begins once the oldest unsynced byte is that old, or
  // there are that many. What a power cut may take is this much, and what comes in while the sync
  // runs.
  std::chrono::milliseconds flush_interval{500};
  std::int64_t flush_bytes = std::int64_t{16} << 20;
  std::chrono::milliseconds sync_timeout{5000};
  std::chrono::milliseconds replica_timeout{3000};

  std::int64_t body_bytes_max = kBodyBytesMaxDefault;
  bool allow_long_topics = false;    // see RecordLimits
  bool record_crc = true;            // `__CRC32#` in every record
  std::int32_t tickets_max = 65536;  // appends that may wait for their level at once; more is kBusy
  Host store_host = loopback_host();

  bool threads = true;
  LogCallback log{};
  // Where next queue offsets come from at open when the log's own checkpoint cannot tell (Java
  // wrote, or it is damaged). nullptr: from all records of the log. Must outlive the log.
  QueueOffsetSource* queue_offsets = nullptr;

  // All faults at once, in one kInvalidArgument.
  Result<void> validate() const;
};

struct ReadOptions {
  enum class Limit : std::uint8_t {
    kConfirmed,  // what a consumer may see (P3): below confirm_offset()
    kFilled,     // what exists: below filled_offset(); for replication, export and dispatch under
                 // kAsync
  };
  std::int32_t count_max = 32;
  std::int64_t bytes_max = std::int64_t{1} << 20;  // the first record is returned whatever its size
  Limit limit = Limit::kConfirmed;
};

struct LogCounters {
  std::int64_t messages_appended = 0;
  std::int64_t bytes_appended = 0;  // records, without blanks
  std::int64_t syncs = 0;           // of log data
  std::int64_t sync_groups = 0;     // of them, those that completed at least one waiting append
  std::int64_t sync_group_messages = 0;  // appends completed by those
  std::int64_t checkpoints = 0;
  std::int64_t blocks_prepared_bytes = 0;
  std::int64_t rolls = 0;
  std::int64_t damaged_ranges = 0;  // quarantined so far
};

// What the caller vouches for when it closes the log.
struct CloseOptions {
  // Every record is in its consume queue and index, on disk. Then `abort` goes, and a Java broker
  // opens the store without a rebuild. False: `abort` and a checkpoint stay that make Java dispatch
  // it all.
  bool derived_files_complete = false;
};

using ReadCompletion = std::function<void(Result<ReadBatch> batch)>;

class KEROLOX_API CommitLog {
 public:
  // Takes the store's lock before anything is touched, recovers what the last run left, and accepts
  // appends at filled_offset(). `file_system` and `clock` must outlive the log.
  // Rot below the recorded synced offset is quarantined and reported, not an error.
  // Errors: kLocked, naming the owner; kInvalidArgument (options; another file size); kNotFound;
  // kUnsupported, by name (newer format, RocksDB, DLedger, BatchCQ, compaction, consume queue ext,
  // multi-dispatch, queues or index that Java wrote); kCorruption (foreign file, gap); kPermission;
  // kNoSpace; kIoError.
  static Result<std::unique_ptr<CommitLog>> open(CommitLogOptions options, FileSystem& file_system,
                                                 const Clock& clock);
  // On the machine's file system and clock.
  static Result<std::unique_ptr<CommitLog>> open(CommitLogOptions options);

  virtual ~CommitLog() = default;  // as close({}), its error dropped

  // Appends one message and returns at once. When it returns a value, the record has its place and
  // is in memory; `done` runs when its level is reached or the deadline passes. On error nothing
  // was appended and `done` never runs. Errors: kInvalidArgument (see RecordEncoder; or a record
  // larger than a file); kBusy with retry_after; kNoSpace; kStoreFailed; kShutdown.
  virtual Result<Ticket> append(const Message& message, const AppendOptions& options,
                                Completion done) = 0;
  // All or none, side by side in one file, consecutive in their queues. `positions` may be empty,
  // or has an element for each message.
  virtual Result<Ticket> append_batch(std::span<const Message> messages,
                                      const AppendOptions& options, Completion done,
                                      std::span<RecordPosition> positions) = 0;
  // Waits for the level; drives the log itself where nobody else does. Returns the receipt that
  // `done` would get.
  virtual Result<AppendReceipt> append_and_wait(const Message& message,
                                                const AppendOptions& options = {}) = 0;
  virtual Result<AppendReceipt> append_batch_and_wait(std::span<const Message> messages,
                                                      const AppendOptions& options,
                                                      std::span<RecordPosition> positions) = 0;

  // The way of a slave: bytes of another log, at their own offset, which must be filled_offset()
  // (or, in an empty log, the begin of any file). May end inside a record. In memory when it
  // returns. Errors: kOutOfRange with the offset expected; kCorruption if a completed record is
  // invalid; kNoSpace; kStoreFailed; kShutdown. After an error nothing is kept of the file in which
  // it arose: where the bytes span several, filled_offset() tells.
  virtual Result<void> append_raw(PhysicalOffset at, std::span<const std::byte> bytes) = 0;

  // Cuts the log back to `end`, a record's begin in [min_offset(), filled_offset()], crash-safely:
  // the cut bytes are saved under `kerolox/cut`, zeroed and synced before it returns. Waiting
  // appends above it complete with kStaleEpoch. Errors: kOutOfRange; kInvalidArgument (inside a
  // record); kIoError.
  virtual Result<void> truncate(PhysicalOffset end) = 0;

  // Replication reports how far at least replica_count replicas are. Monotonic: smaller values are
  // ignored. `written` >= `synced`.
  virtual void set_replicated(PhysicalOffset written, PhysicalOffset synced) = 0;

  virtual PhysicalOffset min_offset() const = 0;  // first byte kept
  virtual PhysicalOffset filled_offset()
      const = 0;  // one past the gap-free prefix of finished copies
  virtual PhysicalOffset flushed_offset() const = 0;  // one past the last byte known to be on disk
  virtual PhysicalOffset replicated_written_offset() const = 0;
  virtual PhysicalOffset replicated_synced_offset() const = 0;
  virtual PhysicalOffset confirm_offset()
      const = 0;  // what the mode in force can no longer lose (P3)
  virtual std::int64_t file_bytes() const = 0;
  virtual QueueOffset next_queue_offset(std::string_view topic, QueueId queue) const = 0;

  // Sequential records from `offset`, which must be a record's begin or filled_offset() (then the
  // batch is empty). Each is validated before it is returned; damage is quarantined, skipped and
  // listed. May wait for the disk. Errors: kOutOfRange with min and max; kCorruption: no record
  // begins there; kIoError.
  virtual Result<void> read(PhysicalOffset offset, const ReadOptions& options,
                            ReadBatch& batch) = 0;
  // The same from memory alone: false means that it would have to wait, and `batch` is empty.
  virtual Result<bool> try_read(PhysicalOffset offset, const ReadOptions& options,
                                ReadBatch& batch) = 0;
  // The same, by callback: at once if memory has it, else on the keep thread or in run_once().
  virtual void read(PhysicalOffset offset, const ReadOptions& options, ReadCompletion done) = 0;
  // Log bytes as they are, for replication: up to `bytes` from `offset`, never past filled_offset()
  // or the end of a file.
  virtual Result<std::vector<std::byte>> read_raw(PhysicalOffset offset, std::int64_t bytes) = 0;

  // Makes all that is filled durable, by now or before. Errors: kStoreFailed with the cause.
  virtual Result<void> flush() = 0;

  // One bounded step of everything that the threads would do: flush if due, complete, prepare,
  // checkpoint, queued reads. True if it did anything. May be called beside the threads.
  virtual bool run_once() = 0;

  // Nothing, or why appends ended.
  virtual std::optional<Error> failure() const = 0;
  virtual LogCounters counters() const = 0;
  virtual const RecoveryReport& recovery_report() const = 0;
  virtual std::vector<DamagedRange> quarantine() const = 0;

  // Flushes, writes the checkpoint, ends threads, completes what still waits, releases the lock.
  // All later calls but offsets and counters are kShutdown. Errors: kStoreFailed, kIoError.
  virtual Result<void> close(const CloseOptions& options) = 0;
};

}  // namespace kerolox::storage
