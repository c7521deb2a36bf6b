// Counts of latencies, so that recording one costs a few instructions and no memory.
//
// Buckets widen with the value: 64 to each power of two, so that a percentile is at most 1.6 % off.
// Threads: one at a time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kerolox::tools {

class LatencyHistogram {
 public:
  void record(std::int64_t nanoseconds) {
    const std::uint64_t value = nanoseconds < 0 ? 0 : static_cast<std::uint64_t>(nanoseconds);
    ++counts_[bucket_of(value)];
    if (value > max_) {
      max_ = value;
    }
  }
  void merge(const LatencyHistogram& other);

  std::int64_t count() const;
  // The value that `part` (0 to 1) of all are at or below.
  double percentile_microseconds(double part) const;
  double max_microseconds() const { return static_cast<double>(max_) / 1000; }

 private:
  static constexpr int kBitsKept = 7;  // of the value: the leading one and six more
  static constexpr std::uint64_t kExact = std::uint64_t{1} << kBitsKept;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kExact) {
      return static_cast<std::size_t>(value);
    }
    const int shift = static_cast<int>(std::bit_width(value)) - kBitsKept;
    return static_cast<std::size_t>((static_cast<std::uint64_t>(shift) << (kBitsKept - 1)) +
                                    (value >> shift));
  }
  static std::uint64_t highest_of(std::size_t bucket);

  std::array<std::int64_t, (std::size_t{64 - kBitsKept + 2} << (kBitsKept - 1))> counts_{};
  std::uint64_t max_ = 0;
};

}  // namespace kerolox::tools
