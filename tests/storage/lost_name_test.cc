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

}  // namespace
}  // namespace kerolox::storage
