// A progress bar on a terminal, for whatever takes longer than two seconds. Anywhere else: nothing.
#pragma once

#include <cstdint>
#include <string>

#include "kerolox/base/clock.h"

namespace kerolox::tools {

class Progress {
 public:
  // Draws on standard error; `total` in bytes.
  Progress(std::string label, std::int64_t total, const Clock& clock);
  ~Progress();  // clears the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap to call often: draws at most ten times a second.
  void reach(std::int64_t done);

 private:
  std::string label_;
  std::int64_t total_;
  const Clock& clock_;
  bool terminal_;
  bool drawn_ = false;
  MonotonicTime begun_;
  MonotonicTime next_draw_;
};

}  // namespace kerolox::tools
