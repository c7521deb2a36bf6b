#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

namespace kerolox::tools {
namespace {

constexpr std::int64_t kBarCells = 30;
constexpr double kMib = 1 << 20;

}  // namespace

Progress::Progress(std::string label, std::int64_t total, const Clock& clock)
    : label_(std::move(label)),
      total_(std::max<std::int64_t>(total, 1)),
      clock_(clock),
      terminal_(::isatty(2) == 1),
      begun_(clock.monotonic()),
      next_draw_(begun_ + std::chrono::seconds(2)) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
  }
}

void Progress::reach(std::int64_t done) {
  if (!terminal_) {
    return;
  }
  const MonotonicTime now = clock_.monotonic();
  if (now < next_draw_) {
    return;
  }
  next_draw_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  done = std::clamp<std::int64_t>(done, 0, total_);
  const double part = static_cast<double>(done) / static_cast<double>(total_);
  const auto filled = static_cast<int>(part * static_cast<double>(kBarCells));
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  const double mib = static_cast<double>(done) / kMib;
  std::fprintf(stderr, "\r%s [%s%*s] %3.0f%%  %.0f of %.0f MiB, %.0f MiB/s\033[K", label_.c_str(),
               std::string(static_cast<std::size_t>(filled), '#').c_str(),
               static_cast<int>(kBarCells) - filled, "", part * 100, mib,
               static_cast<double>(total_) / kMib, mib / seconds);
}

}  // namespace kerolox::tools
