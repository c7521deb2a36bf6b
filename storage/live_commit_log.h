// An open commit log: the parts, put together, and its threads.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "kerolox/base/mutex.h"
#include "kerolox/storage/commit_log.h"
#include "storage/appender.h"
#include "storage/checkpoint_keeper.h"
#include "storage/group_flush.h"
#include "storage/java_files.h"
#include "storage/live_reader.h"
#include "storage/log_file_queue.h"
#include "storage/log_state.h"
#include "storage/recovery.h"
#include "storage/store_lock.h"
#include "storage/ticket_board.h"
#include "storage/wakeup.h"

namespace kerolox::storage {

class LiveCommitLog final : public CommitLog {
 public:
  static Result<std::unique_ptr<CommitLog>> open(CommitLogOptions options, FileSystem& file_system,
                                                 const Clock& clock);
  ~LiveCommitLog() override;

  Result<Ticket> append(const Message& message, const AppendOptions& options,
                        Completion done) override;
  Result<Ticket> append_batch(std::span<const Message> messages, const AppendOptions& options,
                              Completion done, std::span<RecordPosition> positions) override;
  Result<AppendReceipt> append_and_wait(const Message& message,
                                        const AppendOptions& options) override;
  Result<AppendReceipt> append_batch_and_wait(std::span<const Message> messages,
                                              const AppendOptions& options,
                                              std::span<RecordPosition> positions) override;
  Result<void> append_raw(PhysicalOffset at, std::span<const std::byte> bytes) override;
  Result<void> truncate(PhysicalOffset end) override;
  void set_replicated(PhysicalOffset written, PhysicalOffset synced) override;

  PhysicalOffset min_offset() const override { return files_->min_offset(); }
  PhysicalOffset filled_offset() const override { return state_.filled.value(); }
  PhysicalOffset flushed_offset() const override { return state_.flushed(); }
  PhysicalOffset replicated_written_offset() const override {
    return state_.watermarks().replicated_written;
  }
  PhysicalOffset replicated_synced_offset() const override {
    return state_.watermarks().replicated_synced;
  }
  PhysicalOffset confirm_offset() const override { return state_.confirmed(); }
  std::int64_t file_bytes() const override { return files_->file_bytes(); }
  QueueOffset next_queue_offset(std::string_view topic, QueueId queue) const override;

  Result<void> read(PhysicalOffset offset, const ReadOptions& options, ReadBatch& batch) override;
  Result<bool> try_read(PhysicalOffset offset, const ReadOptions& options,
                        ReadBatch& batch) override;
  void read(PhysicalOffset offset, const ReadOptions& options, ReadCompletion done) override;
  Result<std::vector<std::byte>> read_raw(PhysicalOffset offset, std::int64_t bytes) override;

  Result<void> flush() override;
  bool run_once() override;
  std::optional<Error> failure() const override { return state_.failure(); }
  LogCounters counters() const override;
  const RecoveryReport& recovery_report() const override { return report_; }
  std::vector<DamagedRange> quarantine() const override { return keeper_->quarantine(); }
  Result<void> close(const CloseOptions& options) override;

 private:
  struct QueuedRead {
    PhysicalOffset offset;
    ReadOptions options;
    ReadCompletion done;
  };

  LiveCommitLog(CommitLogOptions options, FileSystem& file_system, const Clock& clock,
                StoreLock lock, RecoveredLog recovered, std::unique_ptr<LogFileQueue> files,
                std::unique_ptr<CheckpointKeeper> keeper);
  Result<void> mark_open();  // Java's two files
  void start_threads();
  void stop_threads();

  // Who appends: how its completion and positions reach it, and whether it will lead the sync
  // itself.
  struct Caller {
    Completion done;
    std::span<RecordPosition> positions;
    bool leads_the_sync = false;
  };
  std::chrono::nanoseconds timeout_of(const AppendOptions& options, ReplicaLevel replicas) const;
  Result<Appender::Demand> demand_of(const AppendOptions& options, bool waits) const;
  Result<Ticket> append_message(const Message& message, const AppendOptions& options,
                                const Caller& caller);
  Result<Ticket> append_messages(std::span<const Message> messages, const AppendOptions& options,
                                 const Caller& caller);
  Result<Ticket> append_items(std::span<Appender::Item> items, const AppendOptions& options,
                              bool waits, const Caller& caller);
  void complete_from_memory(Ticket& ticket, const Completion& done);
  void wake_threads(PhysicalOffset end, bool wants_sync);
  template <typename Append>
  Result<AppendReceipt> wait_for(const AppendOptions& options, const Append& append);
  RecordLimits record_limits() const;

  // Background work, a bounded step each; true if it did anything.
  bool flush_step();
  bool prepare_step();
  bool checkpoint_step();
  bool read_step();
  bool expire_step();
  bool maintain();  // prepare, checkpoint, read
  Result<void> cut(const LogSnapshot& snapshot, PhysicalOffset old_end);
  Result<void> plan_cut(PhysicalOffset from, PhysicalOffset end,
                        const std::function<void(const MessageView&)>& record_goes);
  Result<void> save_checkpoint(bool clean);
  Result<void> save_checkpoint(const LogSnapshot& snapshot, bool clean);
  Result<std::uint64_t> hash_of(PhysicalOffset record, std::int32_t bytes);
  std::int64_t prepare_ahead_bytes() const;

  void flush_loop();
  void maintain_loop();
  void timer_loop();
  void note_failure(const Error& error, const char* what);
  void end_waits();  // after a failure: for what will never reach its level
  void log(Severity severity, const std::string& text) const;

  const CommitLogOptions options_;
  FileSystem& file_system_;
  const Clock& clock_;
  std::optional<StoreLock> lock_;  // until closed
  const RecoveryReport report_;
  JavaFiles java_files_;
  LogState state_;
  std::unique_ptr<LogFileQueue> files_;
  std::unique_ptr<CheckpointKeeper> keeper_;
  TicketBoard tickets_;
  std::unique_ptr<GroupFlush> flush_;
  mutable Appender appender_;
  LiveReader reader_;

  std::atomic<std::int64_t> messages_appended_{0};
  std::atomic<std::int64_t> bytes_appended_{0};
  std::atomic<std::int64_t> prepare_from_;  // an append that passes it wakes the keep thread

  Mutex maintain_mutex_;  // one step of preparation, checkpoint or truncation at a time
  std::atomic<std::int64_t> checkpoint_at_;  // monotonic nanoseconds of the last one
  const PhysicalOffset start_;

  Mutex reads_mutex_;
  std::deque<QueuedRead> reads_ KEROLOX_GUARDED_BY(reads_mutex_);

  Mutex close_mutex_;
  bool closing_done_ KEROLOX_GUARDED_BY(close_mutex_) = false;
  std::atomic<bool> stopping_{false};
  Wakeup flush_wakeup_;
  Wakeup maintain_wakeup_;
  Wakeup timer_wakeup_;
  std::vector<std::thread> threads_;
};

}  // namespace kerolox::storage
