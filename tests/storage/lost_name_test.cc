// A file whose name was not durable yet when the power failed: nothing that was promised is in it,
// so the store opens without it.
#include <gtest/gtest.h>

#include <string>

#include "kerolox/storage/commit_log.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"

namespace kerolox::storage {
namespace {

constexpr std::int64_t kFileBytes = 8192;

class LostNameTest : public ::testing::Test {
 protected:
  std::unique_ptr<CommitLog> open(const char* directory) {
    Result<std::unique_ptr<CommitLog>> log = CommitLog::open(
        {.directory = directory, .file_bytes = kFileBytes, .threads = false}, disk_, clock_);
    EXPECT_TRUE(log) << log.error().text();
    return log ? std::move(log).value() : nullptr;
  }
  static Result<Ticket> append(CommitLog& log) {
    static const std::string body(kFileBytes / 2, 'b');
    return log.append({.topic = "orders", .body = std::as_bytes(std::span(body))}, {}, {});
  }
  static void run_until_idle(CommitLog& log) {
    while (log.run_once()) {
    }
  }

  CrashFileSystem disk_;
  ManualClock clock_;
};

TEST_F(LostNameTest, AStoreThatLosesPowerBeforeItsFirstSyncOpensEmpty) {
  const auto log = open("store");
  ASSERT_TRUE(append(*log));
  disk_.crash(CrashKind::kPowerCut);
  const auto after = open("store");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->filled_offset(), PhysicalOffset{0});
  EXPECT_TRUE(append(*after));
}

// A slave's log may be synced up to the end of a file exactly, before the next one has its name.
TEST_F(LostNameTest, AFullLogFileIsTheEndWhereTheNextOneLostItsName) {
  const auto master = open("master");
  ASSERT_TRUE(append(*master));
  ASSERT_TRUE(append(*master));
  const PhysicalOffset roll{kFileBytes};
  const auto first = master->read_raw(PhysicalOffset{0}, kFileBytes);
  const auto second = master->read_raw(roll, kFileBytes);
  ASSERT_TRUE(first && second);

  const auto slave = open("slave");
  ASSERT_TRUE(slave->append_raw(PhysicalOffset{0}, *first));
  ASSERT_TRUE(slave->flush());
  clock_.advance(std::chrono::seconds(2));
  run_until_idle(*slave);
  ASSERT_EQ(slave->flushed_offset(), roll);
  ASSERT_TRUE(slave->append_raw(roll, *second));
  disk_.crash(CrashKind::kPowerCut);

  const auto after = open("slave");
  ASSERT_NE(after, nullptr);
  EXPECT_EQ(after->filled_offset(), roll);
  EXPECT_TRUE(after->append_raw(roll, *second));
}

}  // namespace
}  // namespace kerolox::storage
