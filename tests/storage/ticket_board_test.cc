#include "storage/ticket_board.h"

#include <gmock/gmock.h>

#include <vector>

namespace kerolox::storage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Level kMemoryLevel{};
constexpr Level kDiskLevel{.local = LocalLevel::kDisk};
constexpr Level kWrittenLevel{LocalLevel::kMemory, ReplicaLevel::kWritten, 1};
constexpr Level kSyncedLevel{LocalLevel::kDisk, ReplicaLevel::kSynced, 1};

class TicketBoardTest : public ::testing::Test {
 protected:
  void add(std::int64_t end, const Level& wanted, MonotonicTime deadline = MonotonicTime(1s)) {
    ASSERT_TRUE(board_.claim());
    board_.add({.receipt = {.end = PhysicalOffset{end}},
                .wanted = wanted,
                .deadline = deadline,
                .done = Completion([this](const Result<AppendReceipt>& receipt) {
                  if (receipt) {
                    completed_.push_back(receipt->end.value);
                    last_ = *receipt;
                  } else {
                    failed_.push_back(receipt.error().code());
                  }
                })});
  }
  static Watermarks at(std::int64_t filled, std::int64_t flushed, std::int64_t written = 0,
                       std::int64_t synced = 0) {
    return {.filled = PhysicalOffset{filled},
            .flushed = PhysicalOffset{flushed},
            .replicated_written = PhysicalOffset{written},
            .replicated_synced = PhysicalOffset{synced}};
  }

  TicketBoard board_{100, 1};
  std::vector<std::int64_t> completed_;
  std::vector<ErrorCode> failed_;
  AppendReceipt last_;
};

TEST_F(TicketBoardTest, OnePassCompletesAllThatAWatermarkHasPassedInOrder) {
  for (const std::int64_t end : {10, 20, 30, 40}) {
    add(end, kDiskLevel);
  }
  EXPECT_EQ(board_.disk_demand(), PhysicalOffset{40});
  EXPECT_EQ(board_.complete(at(40, 9)), 0);
  EXPECT_EQ(board_.complete(at(40, 30)), 3);
  EXPECT_THAT(completed_, ElementsAre(10, 20, 30));
  EXPECT_EQ(board_.complete(at(40, 40)), 1);
  EXPECT_TRUE(board_.empty());
}

TEST_F(TicketBoardTest, WhoWaitsForReplicasHoldsNobodyElseUp) {
  add(10, kWrittenLevel);
  add(20, kDiskLevel);
  EXPECT_EQ(board_.complete(at(20, 20)), 1);
  EXPECT_THAT(completed_, ElementsAre(20));
  EXPECT_EQ(board_.complete(at(20, 20, 20)), 1);
  EXPECT_THAT(completed_, ElementsAre(20, 10));
  EXPECT_EQ(last_.level, (Level{LocalLevel::kDisk, ReplicaLevel::kWritten, 1}));
}

TEST_F(TicketBoardTest, P2NothingIsCompletedAboveTheFilledOffset) {
  add(10, kMemoryLevel);
  add(20, kWrittenLevel);
  EXPECT_EQ(board_.complete(at(9, 0, 30)), 0);
  EXPECT_EQ(board_.expire(MonotonicTime(2s), at(9, 0, 30)), 0);
  EXPECT_EQ(board_.complete(at(20, 0, 30)), 2);
}

TEST_F(TicketBoardTest, AnOverdueTicketEndsWithTheLevelReallyReached) {
  add(10, kSyncedLevel, MonotonicTime(5s));
  add(20, kSyncedLevel, MonotonicTime(1s));
  EXPECT_EQ(board_.next_deadline(), MonotonicTime(1s));
  EXPECT_EQ(board_.expire(MonotonicTime(1s), at(20, 20, 20, 0)), 1);
  EXPECT_THAT(completed_, ElementsAre(20));
  EXPECT_TRUE(last_.timed_out);
  EXPECT_EQ(last_.level, (Level{LocalLevel::kDisk, ReplicaLevel::kWritten, 1}));
  EXPECT_EQ(board_.next_deadline(), MonotonicTime(5s));
}

TEST_F(TicketBoardTest, WhatReachedItsLevelByTheDeadlineIsNotLate) {
  add(10, kDiskLevel);
  EXPECT_EQ(board_.expire(MonotonicTime(1s), at(10, 10)), 1);
  EXPECT_FALSE(last_.timed_out);
}

TEST_F(TicketBoardTest, FailureEndsWhatLiesAboveAndLeavesTheRest) {
  add(10, kDiskLevel);
  add(20, kDiskLevel);
  board_.fail_above(PhysicalOffset{10}, Error(ErrorCode::kStoreFailed, "no"));
  EXPECT_THAT(failed_, ElementsAre(ErrorCode::kStoreFailed));
  EXPECT_THAT(completed_, IsEmpty());
  EXPECT_EQ(board_.complete(at(20, 20)), 1);
  EXPECT_THAT(completed_, ElementsAre(10));
}

TEST_F(TicketBoardTest, PlacesAreLimitedAndComeBack) {
  TicketBoard small(2, 0);
  EXPECT_TRUE(small.claim());
  EXPECT_TRUE(small.claim());
  EXPECT_FALSE(small.claim());
  small.unclaim();
  EXPECT_TRUE(small.claim());
}

TEST_F(TicketBoardTest, MoreThanABatchIsCompletedInOnePass) {
  for (std::int64_t i = 1; i <= 100; ++i) {
    add(i, i % 2 == 0 ? kDiskLevel : kWrittenLevel);
  }
  EXPECT_EQ(board_.complete(at(100, 100, 100)), 100);
  EXPECT_TRUE(board_.empty());
  EXPECT_EQ(board_.next_deadline(), std::nullopt);
}

TEST_F(TicketBoardTest, TheLevelReachedNamesReplicasOnlyWhereThereAreSome) {
  EXPECT_EQ(level_reached(PhysicalOffset{5}, at(9, 4, 9, 9), 0), kMemoryLevel);
  EXPECT_EQ(level_reached(PhysicalOffset{5}, at(9, 5, 9, 4), 2),
            (Level{LocalLevel::kDisk, ReplicaLevel::kWritten, 2}));
  EXPECT_EQ(level_reached(PhysicalOffset{5}, at(9, 4, 9, 5), 2),
            (Level{LocalLevel::kMemory, ReplicaLevel::kSynced, 2}));
}

}  // namespace
}  // namespace kerolox::storage
