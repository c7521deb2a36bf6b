#include "storage/live_commit_log.h"

#include <algorithm>
#include <utility>

#include "storage/hash.h"
#include "storage/log_layout.h"
#include "storage/store_sizes.h"

namespace kerolox::storage {
namespace {

Result<void> check_directories(const CommitLogOptions& options) {
  if (!options.read_only_log_directories.empty() || options.log_directories.size() > 1) {
    return Error(ErrorCode::kUnsupported, "a log in several directories can be read, not written")
        .at(options.directory.string())
        .with_remedy("move all log files to one directory, or open the store read-only");
  }
  return {};
}

std::filesystem::path log_directory_of(const CommitLogOptions& options) {
  return options.log_directories.empty() ? options.directory / "commitlog"
                                         : options.log_directories.front();
}

Result<void> check_exists(const CommitLogOptions& options, FileSystem& file_system) {
  const Result<FileStatus> status = file_system.status(log_directory_of(options));
  if (status || options.create_if_missing) {
    return {};
  }
  if (status.error().code() != ErrorCode::kNotFound) {
    return status.error();
  }
  return Error(ErrorCode::kNotFound, "there is no store")
      .at(options.directory.string())
      .with_remedy("check the path; it must have a commitlog folder");
}

}  // namespace

Result<std::unique_ptr<CommitLog>> CommitLog::open(CommitLogOptions options,
                                                   FileSystem& file_system, const Clock& clock) {
  return LiveCommitLog::open(std::move(options), file_system, clock);
}

Result<std::unique_ptr<CommitLog>> CommitLog::open(CommitLogOptions options) {
  return LiveCommitLog::open(std::move(options), posix_file_system(), system_clock());
}

Result<std::unique_ptr<CommitLog>> LiveCommitLog::open(CommitLogOptions options,
                                                       FileSystem& file_system,
                                                       const Clock& clock) {
  KEROLOX_RETURN_IF_ERROR(options.validate());
  KEROLOX_RETURN_IF_ERROR(check_directories(options));
  KEROLOX_RETURN_IF_ERROR(check_exists(options, file_system));
  // Before the lock leaves its stamp in a store that is not for us; and again once it cannot
  // change.
  KEROLOX_ASSIGN_OR_RETURN(const bool held, StoreLock::held(options.directory, file_system));
  if (!held) {
    KEROLOX_RETURN_IF_ERROR(check_supported(options.directory, true, file_system));
  }
  KEROLOX_ASSIGN_OR_RETURN(StoreLock lock, StoreLock::take(options.directory, file_system, clock));
  KEROLOX_RETURN_IF_ERROR(check_supported(options.directory, true, file_system));

  CheckpointFiles checkpoints(options.directory / "kerolox", file_system);
  KEROLOX_ASSIGN_OR_RETURN(RecoveredLog recovered,
                           recover_log({.directory = options.directory,
                                        .log_directories = {log_directory_of(options)},
                                        .file_bytes = options.file_bytes,
                                        .queue_offsets = options.queue_offsets,
                                        .log = options.log},
                                       checkpoints, file_system, clock));
  KEROLOX_RETURN_IF_ERROR(settle_store_sizes(
      options.directory,
      {.queue_file_bytes = options.queue_file_bytes, .index_slots = options.index_slots},
      file_system));
  std::int64_t file_bytes = recovered.layout.file_bytes;
  if (file_bytes == 0) {
    file_bytes = options.file_bytes != 0 ? options.file_bytes : kLogFileBytesDefault;
  }
  recovered.checkpoint.file_bytes = file_bytes;
  recovered.checkpoint.boot_id = file_system.boot_id();
  KEROLOX_ASSIGN_OR_RETURN(
      std::unique_ptr<LogFileQueue> files,
      LogFileQueue::open(
          {.log_directory = log_directory_of(options),
           .spare_directory = options.directory / "kerolox" / "spare",
           .file_bytes = file_bytes,
           .prepare_mode = options.flush_policy == FlushPolicy::kSync ? PrepareMode::kWriteZeros
                                                                      : PrepareMode::kReserve},
          recovered.layout, recovered.report.end, file_system));
  auto keeper = std::make_unique<CheckpointKeeper>(std::move(checkpoints), recovered.checkpoint);
  std::unique_ptr<LiveCommitLog> log(new LiveCommitLog(std::move(options), file_system, clock,
                                                       std::move(lock), std::move(recovered),
                                                       std::move(files), std::move(keeper)));
  KEROLOX_RETURN_IF_ERROR(log->mark_open());
  log->start_threads();
  return std::unique_ptr<CommitLog>(std::move(log));
}

LiveCommitLog::LiveCommitLog(CommitLogOptions options, FileSystem& file_system, const Clock& clock,
                             StoreLock lock, RecoveredLog recovered,
                             std::unique_ptr<LogFileQueue> files,
                             std::unique_ptr<CheckpointKeeper> keeper)
    : options_(std::move(options)),
      file_system_(file_system),
      clock_(clock),
      lock_(std::move(lock)),
      report_(std::move(recovered.report)),
      java_files_(options_.directory, file_system),
      state_(report_.end, options_.flush_policy, options_.replica_level),
      files_(std::move(files)),
      keeper_(std::move(keeper)),
      tickets_(options_.tickets_max, options_.replica_count),
      flush_(std::make_unique<GroupFlush>(state_, *files_, tickets_, clock, options_.log)),
      appender_(state_, *files_, tickets_, *keeper_, clock, options_.record_crc,
                {.end = report_.end,
                 .last_record = recovered.checkpoint.last_record,
                 .last_record_bytes = recovered.checkpoint.last_record.value < 0
                                          ? 0
                                          : static_cast<std::int32_t>(
                                                report_.end - recovered.checkpoint.last_record),
                 .last_store_timestamp_ms = recovered.checkpoint.last_store_timestamp_ms,
                 .has_v2_records = recovered.checkpoint.has_v2_records},
                recovered.checkpoint.queue_offsets),
      reader_(state_, *files_, *keeper_, options_.log),
      prepare_from_(0),
      checkpoint_at_(clock.monotonic().count()),
      start_(report_.end) {}

LiveCommitLog::~LiveCommitLog() { static_cast<void>(close({})); }

Result<void> LiveCommitLog::mark_open() {
  // A Java broker that opens the store after our death must dispatch everything: the times of its
  // checkpoint are 0, and `abort` is there.
  KEROLOX_RETURN_IF_ERROR(java_files_.save_checkpoint({}));
  KEROLOX_ASSIGN_OR_RETURN(const std::int64_t pid, java_files_.create_abort());
  KEROLOX_ASSIGN_OR_RETURN(const std::uint64_t hash, java_files_.checkpoint_hash());
  keeper_->set_java_files(hash, pid);
  return save_checkpoint(false);
}

void LiveCommitLog::start_threads() {
  if (!options_.threads) {
    return;
  }
  threads_.emplace_back([this] { flush_loop(); });
  threads_.emplace_back([this] { maintain_loop(); });
  threads_.emplace_back([this] { timer_loop(); });
}

void LiveCommitLog::stop_threads() {
  stopping_.store(true);
  for (Wakeup* wakeup : {&flush_wakeup_, &maintain_wakeup_, &timer_wakeup_}) {
    wakeup->notify();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

QueueOffset LiveCommitLog::next_queue_offset(std::string_view topic, QueueId queue) const {
  return appender_.next_queue_offset(topic, queue);
}

void LiveCommitLog::set_replicated(PhysicalOffset written, PhysicalOffset synced) {
  state_.set_replicated(written, synced);
  if (tickets_.complete(state_.watermarks()) > 0) {
    flush_->wake_waiters();
  }
}

Result<void> LiveCommitLog::read(PhysicalOffset offset, const ReadOptions& options,
                                 ReadBatch& batch) {
  return reader_.read(offset, options, batch);
}

Result<bool> LiveCommitLog::try_read(PhysicalOffset offset, const ReadOptions& options,
                                     ReadBatch& batch) {
  return reader_.try_read(offset, options, batch);
}

void LiveCommitLog::read(PhysicalOffset offset, const ReadOptions& options, ReadCompletion done) {
  ReadBatch batch;
  const Result<bool> in_memory = reader_.try_read(offset, options, batch);
  if (!in_memory) {
    done(in_memory.error());
    return;
  }
  if (*in_memory) {
    done(std::move(batch));
    return;
  }
  QueuedRead queued{.offset = offset, .options = options, .done = std::move(done)};
  bool closed = false;
  {
    // close() ends what is queued, once it has set `closed`.
    MutexLock lock(reads_mutex_);
    closed = state_.closed.load();
    if (!closed) {
      reads_.emplace_back();
      std::swap(reads_.back(), queued);
    }
  }
  if (closed) {
    queued.done(shutdown_error());
    return;
  }
  maintain_wakeup_.notify();
}

Result<std::vector<std::byte>> LiveCommitLog::read_raw(PhysicalOffset offset, std::int64_t bytes) {
  return reader_.read_raw(offset, bytes);
}

LogCounters LiveCommitLog::counters() const {
  const GroupFlush::Counters& flush = flush_->counters();
  return {.messages_appended = messages_appended_.load(),
          .bytes_appended = bytes_appended_.load(),
          .syncs = flush.syncs.load(),
          .sync_groups = flush.groups.load(),
          .sync_group_messages = flush.group_messages.load(),
          .checkpoints = keeper_->saves(),
          .blocks_prepared_bytes = files_->prepared_bytes_total(),
          .rolls = files_->rolls(),
          .damaged_ranges = reader_.damaged_ranges()};
}

Result<void> LiveCommitLog::close(const CloseOptions& options) {
  MutexLock lock(close_mutex_);
  if (closing_done_) {
    return {};
  }
  closing_done_ = true;
  appender_.close();
  stop_threads();
  Result<void> result;
  if (!state_.failed()) {
    result = flush_->flush_until(state_.filled.value());
  }
  tickets_.fail_above(PhysicalOffset{-1}, shutdown_error());
  flush_->wake_waiters();
  while (read_step()) {
  }
  if (state_.failed()) {
    result = state_.refusal();  // no checkpoint: recovery must look at what the disk holds
  }
  if (result) {
    result = files_->remove_spare();
  }
  if (result && options.derived_files_complete) {
    const std::int64_t time = appender_.last_store_timestamp_ms();
    result = java_files_.save_checkpoint({.physic_timestamp_ms = time,
                                          .logics_timestamp_ms = time,
                                          .index_timestamp_ms = time,
                                          .master_flushed = {},
                                          .confirm = state_.flushed()});
    if (result) {
      const Result<std::uint64_t> hash = java_files_.checkpoint_hash();
      if (hash) {
        keeper_->set_java_files(*hash, 0);
      } else {
        result = hash.error();
      }
    }
  }
  if (result) {
    result = save_checkpoint(true);
  }
  if (result && options.derived_files_complete) {
    result = java_files_.remove_abort();
  }
  lock_.reset();
  return result;
}

void LiveCommitLog::log(Severity severity, const std::string& text) const {
  if (options_.log) {
    options_.log(severity, text);
  }
}

void LiveCommitLog::note_failure(const Error& error, const char* what) {
  state_.fail(error);
  log(Severity::kError, std::string("appends end here, ") + what + " failed: " + error.text());
  end_waits();
}

void LiveCommitLog::end_waits() {
  tickets_.fail_above(state_.flushed(), state_.refusal());
  flush_->wake_waiters();
}

}  // namespace kerolox::storage
