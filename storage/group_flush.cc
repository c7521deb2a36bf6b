#include "storage/group_flush.h"

#include <algorithm>

namespace kerolox::storage {

GroupFlush::GroupFlush(LogState& state, LogFileQueue& files, TicketBoard& tickets,
                       const Clock& clock, const LogCallback& log)
    : state_(state),
      files_(files),
      tickets_(tickets),
      clock_(clock),
      log_(log),
      last_sync_at_(clock.monotonic().count()) {}

bool GroupFlush::due(std::chrono::nanoseconds interval, std::int64_t bytes) const {
  const PhysicalOffset flushed = state_.flushed();
  const PhysicalOffset filled = state_.filled.value();
  if (filled <= flushed || state_.failed()) {
    return false;
  }
  return tickets_.disk_demand() > flushed || filled - flushed >= bytes ||
         clock_.monotonic().count() - last_sync_at_.load() >= interval.count();
}

bool GroupFlush::run_once() {
  MutexLock lock(turn_mutex_);
  return !busy_ && lead();
}

bool GroupFlush::lead() {
  const PhysicalOffset from = state_.flushed();
  const PhysicalOffset to = state_.filled.value();
  if (to <= from || state_.failed()) {
    return false;
  }
  busy_ = true;
  turn_mutex_.unlock();
  sync(from, to);
  turn_mutex_.lock();
  busy_ = false;
  turn_changed_.notify_all();
  return true;
}

void GroupFlush::sync(PhysicalOffset from, PhysicalOffset to) {
  last_sync_at_.store(clock_.monotonic().count());
  const Result<void> flushed = files_.flush(from, to);
  counters_.syncs.fetch_add(1, std::memory_order_relaxed);
  if (!flushed) {
    state_.fail(flushed.error());
    if (log_) {
      log_(Severity::kError, "appends end here, a sync failed: " + flushed.error().text());
    }
    tickets_.fail_above(from, state_.refusal());
    return;
  }
  state_.set_flushed(to);
  const std::int64_t completed = tickets_.complete(state_.watermarks());
  if (completed > 0) {
    counters_.groups.fetch_add(1, std::memory_order_relaxed);
    counters_.group_messages.fetch_add(completed, std::memory_order_relaxed);
  }
}

Result<void> GroupFlush::flush_until(PhysicalOffset offset) {
  drive_until([&] { return state_.flushed() >= offset || state_.failed(); }, MonotonicTime::max());
  if (state_.flushed() >= offset) {
    return {};
  }
  return state_.refusal();
}

void GroupFlush::wake_waiters() {
  MutexLock lock(turn_mutex_);
  turn_changed_.notify_all();
}

GroupFlush::Pause::Pause(GroupFlush& flush) : flush_(flush) {
  MutexLock lock(flush_.turn_mutex_);
  while (flush_.busy_) {
    flush_.turn_changed_.wait(flush_.turn_mutex_);
  }
  flush_.busy_ = true;
}

GroupFlush::Pause::~Pause() {
  MutexLock lock(flush_.turn_mutex_);
  flush_.busy_ = false;
  flush_.turn_changed_.notify_all();
}

}  // namespace kerolox::storage
