// Time that stands still until a test moves it. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "kerolox/base/clock.h"

namespace kerolox {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::int64_t start_wall_ms = 1'700'000'000'000) : wall_ms_(start_wall_ms) {}

  std::int64_t wall_ms() const override { return wall_ms_; }
  MonotonicTime monotonic() const override { return MonotonicTime(monotonic_ns_); }

  // Moves both times.
  void advance(std::chrono::nanoseconds by) {
    monotonic_ns_ += by.count();
    wall_ms_ += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
  }

  // As when somebody sets the machine's clock: monotonic time does not notice.
  void set_wall_ms(std::int64_t wall_ms) { wall_ms_ = wall_ms; }

 private:
  std::atomic<std::int64_t> wall_ms_;
  std::atomic<std::int64_t> monotonic_ns_{1'000'000'000};
};

}  // namespace kerolox
