#include "storage/filled_offset.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

namespace kerolox::storage {
namespace {

TEST(FilledOffsetTest, AGapHoldsBackWhatIsFinishedBehindIt) {
  FilledOffset filled(PhysicalOffset{100});
  const std::uint64_t first = filled.reserve();
  const std::uint64_t second = filled.reserve();
  const std::uint64_t third = filled.reserve();

  filled.publish(second, PhysicalOffset{300});
  EXPECT_EQ(filled.value(), PhysicalOffset{100});
  EXPECT_FALSE(filled.idle());
  filled.publish(first, PhysicalOffset{200});
  EXPECT_EQ(filled.value(), PhysicalOffset{300});
  filled.publish(third, PhysicalOffset{400});
  EXPECT_EQ(filled.value(), PhysicalOffset{400});
  EXPECT_TRUE(filled.idle());
}

TEST(FilledOffsetTest, ThereIsRoomForARecordAndItsBlankOrThereIsNone) {
  FilledOffset filled(PhysicalOffset{0});
  std::vector<std::uint64_t> under_way;
  while (filled.has_room()) {
    under_way.push_back(filled.reserve());
    under_way.push_back(filled.reserve());
    ASSERT_LE(under_way.size(), 10000U);
  }
  // Published in reverse: no copy has taken the slot of another.
  for (std::size_t i = under_way.size(); i > 0; --i) {
    filled.publish(under_way[i - 1], PhysicalOffset{static_cast<std::int64_t>(i)});
  }
  EXPECT_TRUE(filled.idle());
  EXPECT_EQ(filled.value(), PhysicalOffset{static_cast<std::int64_t>(under_way.size())});
  EXPECT_TRUE(filled.has_room());
}

TEST(FilledOffsetTest, ResetMovesItWhileIdle) {
  FilledOffset filled(PhysicalOffset{0});
  filled.publish(filled.reserve(), PhysicalOffset{10});
  filled.reset(PhysicalOffset{4});
  EXPECT_EQ(filled.value(), PhysicalOffset{4});
  filled.publish(filled.reserve(), PhysicalOffset{6});
  EXPECT_EQ(filled.value(), PhysicalOffset{6});
}

TEST(FilledOffsetTest, P1ManyThreadsPublishAndItNeverPassesAnUnfinishedCopy) {
  constexpr int kThreads = 8;
  constexpr std::int64_t kEach = 5000;
  FilledOffset filled(PhysicalOffset{0});
  std::mutex section;  // as the append's
  std::int64_t reserved = 0;
  std::vector<std::atomic<bool>> finished(kThreads * kEach);
  std::atomic<bool> wrong{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::int64_t i = 0; i < kEach; ++i) {
        std::uint64_t sequence = 0;
        std::int64_t end = 0;
        for (;;) {
          const std::lock_guard<std::mutex> lock(section);
          if (filled.has_room()) {
            sequence = filled.reserve();
            end = ++reserved;
            break;
          }
        }
        finished[static_cast<std::size_t>(end - 1)].store(true, std::memory_order_relaxed);
        filled.publish(sequence, PhysicalOffset{end});
        const std::int64_t seen = filled.value().value;
        if (seen > 0 && !finished[static_cast<std::size_t>(seen - 1)].load()) {
          wrong = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(wrong);
  EXPECT_TRUE(filled.idle());
  EXPECT_EQ(filled.value(), PhysicalOffset{kThreads * kEach});
}

}  // namespace
}  // namespace kerolox::storage
