// Group commit: one sync at a time, each for all that is filled by then; the next group fills
// meanwhile.
//
// Whoever waits may lead: a caller that waits for the disk runs the sync itself when nobody does,
// which saves two thread hand-offs (measured: 12 of 52 microseconds). The log's flush thread leads
// for those who do not wait.
//
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "kerolox/base/clock.h"
#include "kerolox/base/log.h"
#include "kerolox/base/mutex.h"
#include "storage/log_file_queue.h"
#include "storage/log_state.h"
#include "storage/ticket_board.h"

namespace kerolox::storage {

class GroupFlush {
 public:
  struct Counters {
    std::atomic<std::int64_t> syncs{0};
    std::atomic<std::int64_t> groups{0};
    std::atomic<std::int64_t> group_messages{0};
  };

  GroupFlush(LogState& state, LogFileQueue& files, TicketBoard& tickets, const Clock& clock,
             const LogCallback& log);

  // Whether bytes that are filled must be synced now: somebody waits for them, or they have waited
  // for `interval`, or are more than `bytes`.
  bool due(std::chrono::nanoseconds interval, std::int64_t bytes) const;

  // Syncs what is filled and completes what that allows, unless another thread is doing so. True if
  // it did.
  bool run_once();

  // Leads syncs, or waits for those of others, until `done()` or `deadline`. Returns done().
  template <typename Done>
  bool drive_until(const Done& done, MonotonicTime deadline) {
    MutexLock lock(turn_mutex_);
    while (!done()) {
      const MonotonicTime now = clock_.monotonic();
      if (now >= deadline) {
        return false;
      }
      if (busy_ || !lead()) {
        // A copy that is still under way, or a replica's report, ends without a sync to tell of it:
        // look again after a millisecond at the latest.
        turn_changed_.wait_for(turn_mutex_, std::min<std::chrono::nanoseconds>(
                                                deadline - now, std::chrono::milliseconds(1)));
      }
    }
    return true;
  }

  // Until everything below `offset` is durable. Errors: kStoreFailed with the cause.
  Result<void> flush_until(PhysicalOffset offset);

  // Somebody's ticket may have been completed without a sync.
  void wake_waiters();

  // Keeps syncs out while it lives.
  class Pause {
   public:
    explicit Pause(GroupFlush& flush);
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    GroupFlush& flush_;
  };

  const Counters& counters() const { return counters_; }

 private:
  // One sync, with the turn taken for its length and the lock given up. False: nothing to sync.
  bool lead() KEROLOX_REQUIRES(turn_mutex_);
  void sync(PhysicalOffset from, PhysicalOffset to);

  LogState& state_;
  LogFileQueue& files_;
  TicketBoard& tickets_;
  const Clock& clock_;
  const LogCallback& log_;
  Counters counters_;
  std::atomic<std::int64_t> last_sync_at_;  // monotonic nanoseconds

  Mutex turn_mutex_;
  ConditionVariable turn_changed_;
  bool busy_ KEROLOX_GUARDED_BY(turn_mutex_) = false;
};

}  // namespace kerolox::storage
