// How one thread of the log sleeps and others wake it, without a system call while it is awake.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "kerolox/base/mutex.h"

namespace kerolox::storage {

class Wakeup {
 public:
  // Any thread. The next (or present) sleep() ends at once.
  void notify() {
    // A plain look first: while the sleeper has not yet seen the last call there is nothing to add.
    if (state_.load(std::memory_order_seq_cst) == State::kNotified) {
      return;
    }
    if (state_.exchange(State::kNotified) == State::kSleeping) {
      MutexLock lock(mutex_);
      condition_.notify_one();
    }
  }

  // The one sleeper.
  void sleep(std::chrono::nanoseconds at_most) {
    MutexLock lock(mutex_);
    State expected = State::kIdle;
    if (state_.compare_exchange_strong(expected, State::kSleeping)) {
      const auto until = std::chrono::steady_clock::now() + at_most;
      while (state_.load() == State::kSleeping) {
        const auto left = until - std::chrono::steady_clock::now();
        if (left <= std::chrono::nanoseconds(0)) {
          break;
        }
        condition_.wait_for(mutex_, left);
      }
    }
    state_.store(State::kIdle);
  }

 private:
  enum class State : std::uint8_t { kIdle, kSleeping, kNotified };
  std::atomic<State> state_{State::kIdle};
  Mutex mutex_;
  ConditionVariable condition_;
};

}  // namespace kerolox::storage
