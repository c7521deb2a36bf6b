#include "storage/checkpoint_keeper.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "support/crash_file_system.h"

namespace kerolox::storage {
namespace {

constexpr PhysicalOffset kLimit{1'000};
constexpr PhysicalOffset kHigher{2'000};

class CheckpointKeeperTest : public ::testing::Test {
 protected:
  CheckpointKeeperTest() {
    EXPECT_TRUE(disk_.create_directories("/store/kerolox"));
    EXPECT_TRUE(disk_.sync_directory("/"));
    EXPECT_TRUE(disk_.sync_directory("/store"));
    CheckpointFiles files("/store/kerolox", disk_);
    EXPECT_TRUE(files.load());
    keeper_ = std::make_unique<CheckpointKeeper>(std::move(files), Checkpoint{.file_bytes = 4096});
  }

  // What the next open would find after a power cut now.
  Checkpoint on_disk() {
    disk_.crash(CrashKind::kPowerCut);
    CheckpointFiles files("/store/kerolox", disk_);
    const auto loaded = files.load();
    EXPECT_TRUE(loaded && *loaded);
    return loaded && *loaded ? **loaded : Checkpoint();
  }

  CrashFileSystem disk_;
  std::unique_ptr<CheckpointKeeper> keeper_;
};

TEST_F(CheckpointKeeperTest, P1ALimitThatAFullDiskKeptFromTheDiskIsSavedByTheNextTry) {
  ASSERT_TRUE(keeper_->raise_limit(kLimit));
  disk_.fail_call(1, ENOSPC);
  const Result<void> refused = keeper_->raise_limit(kHigher);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(keeper_->written_limit(), kLimit);

  ASSERT_TRUE(keeper_->raise_limit(kHigher));
  EXPECT_EQ(keeper_->written_limit(), kHigher);
  EXPECT_EQ(on_disk().written_limit, kHigher);
}

TEST_F(CheckpointKeeperTest, ALimitThatIsHighEnoughIsNotSavedAgain) {
  ASSERT_TRUE(keeper_->raise_limit(kHigher, PhysicalOffset{0}));
  const std::int64_t saves = keeper_->saves();
  ASSERT_TRUE(keeper_->raise_limit(kLimit));
  EXPECT_EQ(keeper_->saves(), saves);
  const Checkpoint saved = on_disk();
  EXPECT_EQ(saved.written_limit, kHigher);
  // Our records may reach to the limit.
  EXPECT_EQ(saved.own_ranges, (std::vector<OwnRange>{{PhysicalOffset{0}, kHigher}}));
}

TEST_F(CheckpointKeeperTest, ACleanStopTakesTheLimitBackToTheEnd) {
  ASSERT_TRUE(keeper_->raise_limit(kHigher, PhysicalOffset{0}));
  ASSERT_TRUE(keeper_->save({.end = kLimit, .written_end = kLimit, .own_begin = PhysicalOffset{0}},
                            0, true));
  EXPECT_EQ(keeper_->written_limit(), kLimit);
  const Checkpoint saved = on_disk();
  EXPECT_TRUE(saved.clean);
  EXPECT_EQ(saved.written_limit, kLimit);
  EXPECT_EQ(saved.own_ranges, (std::vector<OwnRange>{{PhysicalOffset{0}, kLimit}}));
}

}  // namespace
}  // namespace kerolox::storage
