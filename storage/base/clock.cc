#include "kerolox/base/clock.h"

namespace kerolox {
namespace {

class SystemClock final : public Clock {
 public:
  std::int64_t wall_ms() const override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }
  MonotonicTime monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock kClock;
  return kClock;
}

}  // namespace kerolox
