// What an append answers when the disk fails under it (P4).
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "kerolox/storage/commit_log.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"

namespace kerolox::storage {
namespace {

constexpr std::int64_t kFileBytes = 8192;

class FailStopTest : public ::testing::Test {
 protected:
  std::unique_ptr<CommitLog> open(FlushPolicy policy = FlushPolicy::kSync) {
    Result<std::unique_ptr<CommitLog>> log =
        CommitLog::open({.directory = "store",
                         .file_bytes = kFileBytes,
                         .flush_policy = policy,
                         .flush_interval = std::chrono::hours(1),
                         .threads = false},
                        disk_, clock_);
    EXPECT_TRUE(log) << log.error().text();
    return std::move(log).value();
  }
  static Result<Ticket> append(CommitLog& log) {
    static const std::string body(kFileBytes / 2, 'b');
    return log.append({.topic = "orders", .body = std::as_bytes(std::span(body))}, {}, {});
  }

  CrashFileSystem disk_;
  ManualClock clock_;
};

// The first append gives the log its first file, the second rolls: fail each of their calls.
TEST_F(FailStopTest, AnAppendThatMeetsAFailingDiskEndsTheStoreAndSaysSo) {
  bool failed = true;
  for (std::uint64_t nth = 1; failed; ++nth) {
    SCOPED_TRACE(nth);
    const auto log = open();
    ASSERT_LT(nth, 100U);
    disk_.fail_call(nth, EIO);
    failed = false;
    for (int count = 0; count < 2 && !failed; ++count) {
      const Result<Ticket> ticket = append(*log);
      failed = !ticket;
      if (failed) {
        EXPECT_EQ(ticket.error().code(), ErrorCode::kStoreFailed) << ticket.error().text();
      }
    }
    disk_.clear_failures();
    if (failed) {
      const Result<Ticket> later = append(*log);
      ASSERT_FALSE(later) << "a retry turned the failure into a success";
      EXPECT_EQ(later.error().code(), ErrorCode::kStoreFailed);
      EXPECT_TRUE(log->failure().has_value());
    }
    disk_.crash(CrashKind::kPowerCut);
  }
}

TEST_F(FailStopTest, AnAppendThatFindsNoSpaceIsRefusedAndLaterOnesAreNot) {
  const auto log = open();
  ASSERT_TRUE(append(*log));
  disk_.set_capacity(0);
  const Result<Ticket> refused = append(*log);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace) << refused.error().text();
  EXPECT_FALSE(log->failure().has_value());
  disk_.set_capacity(1 << 30);
  const Result<Ticket> ticket = append(*log);
  EXPECT_TRUE(ticket) << ticket.error().text();
}

TEST_F(FailStopTest, AFailedSyncIsNeverRetriedIntoASuccess) {
  const auto log = open();
  ASSERT_TRUE(append(*log));
  disk_.fail_sync(1);
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Result<void> flushed = log->flush();
    ASSERT_FALSE(flushed) << "attempt " << attempt;
    EXPECT_EQ(flushed.error().code(), ErrorCode::kStoreFailed);
  }
  EXPECT_EQ(log->flushed_offset(), PhysicalOffset{0});
}

TEST_F(FailStopTest, ALogFileThatLostItsNameEndsTheStoreBeforeTheNextAcknowledgement) {
  const auto log = open();
  ASSERT_TRUE(append(*log));
  ASSERT_TRUE(log->flush());
  ASSERT_TRUE(append(*log));
  ASSERT_TRUE(disk_.remove("store/commitlog/00000000000000008192"));
  const Result<void> flushed = log->flush();
  ASSERT_FALSE(flushed);
  EXPECT_EQ(flushed.error().code(), ErrorCode::kStoreFailed);
}

TEST_F(FailStopTest, ARefusedSecondOpenChangesNothing) {
  const auto log = open();
  ASSERT_TRUE(append(*log));
  std::set<std::string, std::less<>> calls;
  disk_.set_call_hook([&calls](std::uint64_t, std::string_view call) { calls.emplace(call); });
  const auto second = CommitLog::open({.directory = "store", .threads = false}, disk_, clock_);
  disk_.set_call_hook({});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kLocked) << second.error().text();
  for (const char* change : {"pwrite", "fdatasync", "fsync", "rename", "unlink", "ftruncate"}) {
    EXPECT_FALSE(calls.contains(change)) << change;
  }
}

TEST_F(FailStopTest, WhatAFlushCoveredOutlivesAPowerCutBehindARollToo) {
  const auto log = open();
  ASSERT_TRUE(append(*log));
  ASSERT_TRUE(append(*log));
  ASSERT_TRUE(log->flush());
  const PhysicalOffset flushed = log->flushed_offset();
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(open()->filled_offset(), flushed);
}

// Nothing syncs for an hour but the checkpoint, which is due every second.
TEST_F(FailStopTest, TheCheckpointNeverRunsAheadOfTheDisk) {
  const auto log = open(FlushPolicy::kAsync);
  ASSERT_TRUE(append(*log));
  const PhysicalOffset end = log->filled_offset();
  clock_.advance(std::chrono::seconds(2));
  while (log->run_once()) {
  }
  disk_.crash(CrashKind::kPowerCut);
  const auto after = open();
  EXPECT_EQ(after->filled_offset(), end);
  EXPECT_TRUE(after->recovery_report().damaged.empty());
}

}  // namespace
}  // namespace kerolox::storage
