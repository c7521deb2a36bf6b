// What an open log does in the background: a bounded step each, looped by a thread or called by
// hand.
#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

#include "storage/cut_file.h"
#include "storage/hash.h"
#include "storage/live_commit_log.h"

namespace kerolox::storage {
namespace {

constexpr std::chrono::nanoseconds kCheckpointInterval = std::chrono::seconds(1);
constexpr std::int64_t kCheckpointBytes = std::int64_t{256} << 20;
constexpr std::int64_t kPrepareAheadBytesMin = std::int64_t{1} << 20;
constexpr std::int64_t kPrepareAheadBytesMax = std::int64_t{64} << 20;
// How much of the newest log stays in the page cache; what is older goes once it is on disk, and
// readers fetch it from there. The kernel then has warm memory at hand for new log: where it must
// find fresh memory, as on a virtual machine that gives back what is free, that costs an append
// more than all the rest (measured: 1 KiB at 0.36 M/s and 2.8 CPU s a GiB; so, 1.1 M/s and 1.0).
constexpr std::int64_t kCachedTailBytes = 2 * LiveReader::kMemoryWindowBytes;
constexpr std::chrono::nanoseconds kTimerBusy = std::chrono::milliseconds(10);
constexpr std::chrono::nanoseconds kTimerIdle = std::chrono::milliseconds(200);

void name_thread(const char* name) { pthread_setname_np(pthread_self(), name); }

}  // namespace

std::int64_t LiveCommitLog::prepare_ahead_bytes() const {
  // A store that has taken little occupies little: as far ahead as half of what came in this run.
  return std::clamp((state_.filled.value() - start_) / 2, kPrepareAheadBytesMin,
                    kPrepareAheadBytesMax);
}

bool LiveCommitLog::flush_step() {
  return flush_->due(options_.flush_interval, options_.flush_bytes) && flush_->run_once();
}

bool LiveCommitLog::prepare_step() {
  if (state_.failed()) {
    return false;
  }
  const PhysicalOffset reserved = appender_.reserved();
  const std::int64_t ahead = prepare_ahead_bytes();
  const Result<bool> prepared = files_->prepare_ahead(reserved + ahead);
  if (!prepared && prepared.error().code() != ErrorCode::kNoSpace) {
    // Not even a failed sync of zeros may be passed over: it may have lost log data of the same
    // file.
    note_failure(prepared.error(), "preparing blocks");
    return true;
  }
  // Where it is for want of space, the append that needs the space says so.
  prepare_from_.store((files_->prepared_offset() - ahead / 2).value, std::memory_order_relaxed);
  return prepared && *prepared;
}

bool LiveCommitLog::checkpoint_step() {
  if (state_.failed()) {
    return false;
  }
  const PhysicalOffset synced = keeper_->synced();
  const std::int64_t unrecorded = state_.readable() - synced;
  const bool old =
      clock_.monotonic().count() - checkpoint_at_.load() >= kCheckpointInterval.count();
  if (unrecorded > 0 && (old || unrecorded >= kCheckpointBytes)) {
    const Result<void> saved = save_checkpoint(false);
    if (!saved && saved.error().code() != ErrorCode::kNoSpace) {
      note_failure(saved.error(), "the checkpoint");
      return true;
    }
    // Without space for it the checkpoint before stays good: recovery has more to look at.
    return saved.has_value();
  }
  if (keeper_->written_limit() - appender_.reserved() < kLimitStepBytes / 2 && unrecorded > 0) {
    const Result<void> raised = keeper_->raise_limit(appender_.reserved() + kLimitStepBytes);
    if (!raised && raised.error().code() != ErrorCode::kNoSpace) {
      note_failure(raised.error(), "the checkpoint");
    }
    return raised.has_value();
  }
  return false;
}

Result<void> LiveCommitLog::save_checkpoint(bool clean) {
  checkpoint_at_.store(clock_.monotonic().count());
  const LogSnapshot snapshot = appender_.snapshot();
  const Result<void> saved = save_checkpoint(snapshot, clean);
  if (!saved) {
    appender_.give_back(snapshot);
  }
  return saved;
}

Result<void> LiveCommitLog::save_checkpoint(const LogSnapshot& snapshot, bool clean) {
  KEROLOX_RETURN_IF_ERROR(flush_->flush_until(snapshot.end));
  KEROLOX_ASSIGN_OR_RETURN(const std::uint64_t hash,
                           hash_of(snapshot.last_record, snapshot.last_record_bytes));
  return keeper_->save(snapshot, hash, clean);
}

Result<std::uint64_t> LiveCommitLog::hash_of(PhysicalOffset record, std::int32_t bytes) {
  if (record.value < 0) {
    return std::uint64_t{0};
  }
  const std::shared_ptr<LogFile> file = files_->file_at(record);
  KEROLOX_CHECK(file != nullptr);
  std::vector<std::byte> copy(static_cast<std::size_t>(bytes));
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t read, file->read(record - file->base(), copy));
  KEROLOX_CHECK(read == copy.size());
  return xxh3_64(copy);
}

bool LiveCommitLog::read_step() {
  QueuedRead next;
  {
    MutexLock lock(reads_mutex_);
    if (reads_.empty()) {
      return false;
    }
    next = std::move(reads_.front());
    reads_.pop_front();
  }
  ReadBatch batch;
  const Result<void> done = reader_.read(next.offset, next.options, batch);
  if (done) {
    next.done(std::move(batch));
  } else {
    next.done(done.error());
  }
  return true;
}

bool LiveCommitLog::expire_step() {
  std::int64_t finished = tickets_.expire(clock_.monotonic(), state_.watermarks());
  if (tickets_.waiting_for_memory()) {
    finished += tickets_.complete(state_.watermarks());
  }
  if (finished > 0) {
    flush_->wake_waiters();
  }
  return finished > 0;
}

bool LiveCommitLog::maintain() {
  MutexLock lock(maintain_mutex_);
  const bool prepared = prepare_step();
  const bool recorded = checkpoint_step();
  const bool forgot = files_->forget(PhysicalOffset{state_.flushed().value - kCachedTailBytes});
  return prepared || recorded || forgot;
}

bool LiveCommitLog::run_once() {
  if (state_.closed.load()) {
    return false;
  }
  const bool expired = expire_step();
  const bool flushed = flush_step();
  const bool maintained = maintain();
  const bool read = read_step();
  return expired || flushed || maintained || read;
}

Result<void> LiveCommitLog::flush() {
  if (state_.closed.load()) {
    return shutdown_error();
  }
  return flush_->flush_until(state_.filled.value());
}

void LiveCommitLog::flush_loop() {
  name_thread("kerolox-flush");
  while (!stopping_.load()) {
    if (!flush_step()) {
      flush_wakeup_.sleep(options_.flush_interval);
    }
  }
}

void LiveCommitLog::maintain_loop() {
  name_thread("kerolox-keep");
  while (!stopping_.load()) {
    const bool maintained = maintain();
    const bool read = read_step();
    if (!maintained && !read) {
      maintain_wakeup_.sleep(kCheckpointInterval / 4);
    }
  }
}

void LiveCommitLog::timer_loop() {
  name_thread("kerolox-timer");
  while (!stopping_.load()) {
    expire_step();
    timer_wakeup_.sleep(tickets_.empty() ? kTimerIdle : kTimerBusy);
  }
}

// The records from `from` to `end`, whose queues take their offsets back.
Result<void> LiveCommitLog::plan_cut(PhysicalOffset from, PhysicalOffset end,
                                     const std::function<void(const MessageView&)>& record_goes) {
  ReadBatch batch;
  while (from < end) {
    KEROLOX_RETURN_IF_ERROR(
        reader_.read(from, {.count_max = 1024, .limit = ReadOptions::Limit::kFilled}, batch));
    for (const MessageView& record : batch) {
      record_goes(record);
    }
    KEROLOX_CHECK(batch.next_offset() > from);
    from = batch.next_offset();
  }
  return {};
}

Result<void> LiveCommitLog::cut(const LogSnapshot& snapshot, PhysicalOffset old_end) {
  tickets_.fail_above(snapshot.end,
                      Error(ErrorCode::kStaleEpoch, "the log was truncated below this message")
                          .with_number("log_end", snapshot.end.value));
  if (state_.flushed() < snapshot.end) {
    KEROLOX_RETURN_IF_ERROR(files_->flush(state_.flushed(), snapshot.end));
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::uint64_t hash,
                           hash_of(snapshot.last_record, snapshot.last_record_bytes));
  // From here on recovery finishes the cut, whenever we die.
  KEROLOX_RETURN_IF_ERROR(keeper_->begin_cut(snapshot, hash));
  KEROLOX_ASSIGN_OR_RETURN(const SavedCut saved,
                           save_cut(options_.directory / "kerolox", files_->layout(), snapshot.end,
                                    old_end, clock_.wall_ms(), file_system_));
  log(Severity::kWarning, "truncated to " + std::to_string(snapshot.end.value) + "; " +
                              std::to_string(saved.bytes) + " bytes are kept in " +
                              saved.path.string());
  reader_.note_truncation();
  state_.lower_to(snapshot.end);
  KEROLOX_RETURN_IF_ERROR(files_->truncate(snapshot.end));
  return keeper_->finish_cut();
}

Result<void> LiveCommitLog::truncate(PhysicalOffset end) {
  MutexLock lock(maintain_mutex_);
  GroupFlush::Pause no_syncs(*flush_);
  PhysicalOffset old_end;
  return appender_.truncate(
      [&](PhysicalOffset records_end,
          const std::function<void(const MessageView&)>& record_goes) -> Result<Appender::CutPlan> {
        if (end < files_->min_offset() || end > records_end) {
          return Error(ErrorCode::kOutOfRange, "the log cannot be cut there")
              .with_number("offset", end.value)
              .with_number("min", files_->min_offset().value)
              .with_number("max", records_end.value);
        }
        old_end = state_.filled.value();
        KEROLOX_ASSIGN_OR_RETURN(const PhysicalOffset before, reader_.record_before(end));
        KEROLOX_RETURN_IF_ERROR(plan_cut(end, records_end, record_goes));
        const bool file_begin = before.value < 0;
        return Appender::CutPlan{
            .end = end,
            .last_record = before,
            .last_record_bytes = file_begin ? 0 : static_cast<std::int32_t>(end - before)};
      },
      [&](const LogSnapshot& snapshot) { return cut(snapshot, old_end); });
}

}  // namespace kerolox::storage
