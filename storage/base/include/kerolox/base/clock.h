// Time, handed in from outside so that tests and simulations own it.
//
// Wall time stamps records and nothing else: no safety property depends on it (promise P10).
// Deadlines and intervals use monotonic time.
#pragma once

#include <chrono>
#include <cstdint>

#include "kerolox/base/api.h"

namespace kerolox {

using MonotonicTime = std::chrono::nanoseconds;  // since an arbitrary start

class KEROLOX_API Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t wall_ms() const = 0;  // milliseconds since the Unix epoch
  virtual MonotonicTime monotonic() const = 0;
};

// The machine's clocks. Stateless, so one object serves every store; any thread.
KEROLOX_API const Clock& system_clock();

}  // namespace kerolox
