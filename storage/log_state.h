// What all parts of an open log share: how far it has got, and whether it has failed.
//
// Threads: any. Watermarks only grow, except in lower_to(), which runs while nothing else does.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "kerolox/base/mutex.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/commit_log.h"
#include "storage/filled_offset.h"
#include "storage/ticket_board.h"

namespace kerolox::storage {

class LogState {
 public:
  LogState(PhysicalOffset end, FlushPolicy policy, ReplicaLevel replica_level)
      : filled(end),
        policy_(policy),
        replica_level_(replica_level),
        flushed_(end.value),
        readable_(end.value) {}

  FilledOffset filled;

  Watermarks watermarks() const;
  PhysicalOffset flushed() const {
    return PhysicalOffset{flushed_.load(std::memory_order_acquire)};
  }
  void set_flushed(PhysicalOffset offset);
  // Raises only; `written` >= `synced`.
  void set_replicated(PhysicalOffset written, PhysicalOffset synced);

  // The end of the last whole record: what was filled raw may end inside one.
  PhysicalOffset readable() const;
  void set_records_end(PhysicalOffset offset) {
    readable_.store(offset.value, std::memory_order_release);  // pairs with readable()
  }
  // What the mode in force can no longer lose.
  PhysicalOffset confirmed() const;

  // After a truncation, or when a slave's log begins elsewhere: all watermarks to at most, or
  // exactly, `offset`.
  void lower_to(PhysicalOffset offset);
  void restart_at(PhysicalOffset offset);

  // Ends the write path. The first cause stays.
  void fail(const Error& cause);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::optional<Error> failure() const;
  // kStoreFailed with the cause in it, for whoever asks to write after a failure.
  Error refusal() const;

  // Ends everything.
  std::atomic<bool> closed{false};

 private:
  const FlushPolicy policy_;
  const ReplicaLevel replica_level_;
  std::atomic<std::int64_t> flushed_;
  std::atomic<std::int64_t> readable_;
  std::atomic<std::int64_t> replicated_written_{0};
  std::atomic<std::int64_t> replicated_synced_{0};
  std::atomic<bool> failed_{false};
  mutable Mutex failure_mutex_;
  std::optional<Error> failure_ KEROLOX_GUARDED_BY(failure_mutex_);
};

Error shutdown_error();

}  // namespace kerolox::storage
