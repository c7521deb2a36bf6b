#include "tools/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kerolox::tools {

void LatencyHistogram::merge(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
  max_ = std::max(max_, other.max_);
}

std::int64_t LatencyHistogram::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::uint64_t LatencyHistogram::highest_of(std::size_t bucket) {
  if (bucket < kExact) {
    return bucket;
  }
  constexpr std::size_t kHalf = std::size_t{1} << (kBitsKept - 1);
  const std::size_t shift = bucket / kHalf - 1;
  const std::uint64_t lowest = std::uint64_t{bucket % kHalf + kHalf} << shift;
  return lowest + (std::uint64_t{1} << shift) - 1;
}

double LatencyHistogram::percentile_microseconds(double part) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(count())));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted && seen > 0) {
      return static_cast<double>(std::min(highest_of(i), max_)) / 1000;
    }
  }
  return 0;
}

}  // namespace kerolox::tools
