#include "storage/log_state.h"

#include <algorithm>

namespace kerolox::storage {
namespace {

void raise(std::atomic<std::int64_t>& watermark, std::int64_t value) {
  std::int64_t present = watermark.load(std::memory_order_relaxed);
  while (present < value &&
         !watermark.compare_exchange_weak(present, value, std::memory_order_acq_rel)) {
  }
}

}  // namespace

Watermarks LogState::watermarks() const {
  return {.filled = filled.value(),
          .flushed = flushed(),
          .replicated_written = PhysicalOffset{replicated_written_.load()},
          .replicated_synced = PhysicalOffset{replicated_synced_.load()}};
}

void LogState::set_flushed(PhysicalOffset offset) { raise(flushed_, offset.value); }

void LogState::set_replicated(PhysicalOffset written, PhysicalOffset synced) {
  raise(replicated_written_, std::max(written, synced).value);
  raise(replicated_synced_, synced.value);
}

PhysicalOffset LogState::readable() const {
  // The records' end first: once it has been seen, what it completes is filled.
  const PhysicalOffset records_end{readable_.load(std::memory_order_acquire)};
  return std::min(filled.value(), records_end);
}

PhysicalOffset LogState::confirmed() const {
  PhysicalOffset offset = readable();
  if (policy_ == FlushPolicy::kSync) {
    offset = std::min(offset, flushed());
  }
  if (replica_level_ == ReplicaLevel::kWritten) {
    offset = std::min(offset, PhysicalOffset{replicated_written_.load()});
  } else if (replica_level_ == ReplicaLevel::kSynced) {
    offset = std::min(offset, PhysicalOffset{replicated_synced_.load()});
  }
  return offset;
}

void LogState::lower_to(PhysicalOffset offset) {
  filled.reset(offset);
  for (std::atomic<std::int64_t>* watermark :
       {&flushed_, &readable_, &replicated_written_, &replicated_synced_}) {
    watermark->store(std::min(watermark->load(), offset.value));
  }
}

void LogState::restart_at(PhysicalOffset offset) {
  filled.reset(offset);
  flushed_.store(offset.value);
  readable_.store(offset.value);
}

void LogState::fail(const Error& cause) {
  MutexLock lock(failure_mutex_);
  if (!failure_) {
    failure_ = cause;
    failed_.store(true, std::memory_order_release);  // pairs with failed()
  }
}

std::optional<Error> LogState::failure() const {
  MutexLock lock(failure_mutex_);
  return failure_;
}

Error LogState::refusal() const {
  const std::optional<Error> cause = failure();
  KEROLOX_CHECK(cause.has_value());
  Error error(ErrorCode::kStoreFailed, "appends ended after a failure: " + cause->message());
  return error.at(cause->place())
      .with_remedy(cause->remedy().empty()
                       ? "repair the disk, then open the store again: recovery keeps what it holds"
                       : cause->remedy());
}

Error shutdown_error() { return Error(ErrorCode::kShutdown, "the store is closed"); }

}  // namespace kerolox::storage
