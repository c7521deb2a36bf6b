#include "tools/latency_histogram.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>

namespace kerolox::tools {
namespace {

TEST(LatencyHistogramTest, PercentilesAreAtMostTwoPercentAboveTheTruth) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  for (std::int64_t microseconds = 1; microseconds <= 100'000; ++microseconds) {
    histogram->record(microseconds * 1000);
  }
  EXPECT_EQ(histogram->count(), 100'000);
  for (const double part : {0.5, 0.9, 0.99, 0.999}) {
    const double truth = 100'000 * part;
    EXPECT_GE(histogram->percentile_microseconds(part), truth);
    EXPECT_LE(histogram->percentile_microseconds(part), truth * 1.02);
  }
  EXPECT_EQ(histogram->max_microseconds(), 100'000);
  EXPECT_EQ(histogram->percentile_microseconds(1), 100'000);
}

TEST(LatencyHistogramTest, TakesTheExtremesAndMerges) {
  const auto one = std::make_unique<LatencyHistogram>();
  const auto other = std::make_unique<LatencyHistogram>();
  EXPECT_EQ(one->percentile_microseconds(0.5), 0);
  one->record(0);
  one->record(-5);  // a clock that stepped back
  other->record(std::numeric_limits<std::int64_t>::max());
  one->merge(*other);
  EXPECT_EQ(one->count(), 3);
  EXPECT_EQ(one->percentile_microseconds(0.5), 0);
  EXPECT_GT(one->max_microseconds(), 9e15);
}

}  // namespace
}  // namespace kerolox::tools
