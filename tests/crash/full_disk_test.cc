// Real file systems that run full, are mounted read-only, or belong to somebody else; and real
// processes that want a store which another one holds.
//
// The mapped back end stores to memory: that a full disk is an error and not SIGBUS (W8) is what
// the survival of this process proves.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "base/scratch_directory.h"
#include "crash/disk_image.h"
#include "crash/store_check.h"
#include "crash/writer_process.h"
#include "kerolox/storage/commit_log.h"
#include "kerolox/storage/read_only_log.h"

namespace kerolox::crash {
namespace {

using std::chrono::seconds;
using storage::CommitLog;

constexpr std::int64_t kFileBytes = std::int64_t{256} << 10;

class MountedDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = why_mounting_is_impossible(); !missing.empty()) {
      GTEST_SKIP() << "small disks need mounted file systems: " << missing;
    }
  }

  // A writer until its disk is full; then, with room again, another one.
  void fill_and_go_on(const std::filesystem::path& store, const std::function<void()>& make_room) {
    std::vector<WriterReport> acknowledged;
    for (const bool full : {true, false}) {
      WriterProcess writer({.store = store,
                            .sync = true,
                            .file_bytes = kFileBytes,
                            .run = full ? 0 : 1,
                            .threads = 2,
                            .count = full ? 1'000'000'000 : 500});
      ASSERT_TRUE(writer.await_end(seconds(60)));
      if (full) {
        EXPECT_EQ(writer.failure(), ErrorCode::kNoSpace) << writer.errors();
      } else {
        EXPECT_TRUE(writer.closed()) << writer.errors();
      }
      const std::vector<WriterReport> reports = writer.acknowledged();
      acknowledged.insert(acknowledged.end(), reports.begin(), reports.end());
      if (full) {
        make_room();
      }
      for (const std::string& fault :
           faults_of({.store = store, .file_bytes = kFileBytes}, acknowledged)) {
        ADD_FAILURE() << fault;
      }
    }
    EXPECT_GT(acknowledged.size(), 1000U);
  }

  ScratchDirectory scratch_;
};

TEST_F(MountedDiskTest, AFullTmpfsRefusesAppendsAndLosesNothing) {
  const MemoryDisk disk(scratch_.path() / "tmpfs", std::int64_t{8} << 20);
  fill_and_go_on(disk.path() / "store", [&disk] { disk.resize(std::int64_t{64} << 20); });
}

TEST_F(MountedDiskTest, AFullExt4RefusesAppendsAndLosesNothing) {
  const DiskImage disk(DiskKind::kExt4, scratch_.path(), std::int64_t{24} << 20);
  const std::filesystem::path ballast = disk.path() / "ballast";
  std::ofstream(ballast) << std::string(std::size_t{8} << 20, 'b');
  fill_and_go_on(disk.path() / "store", [&ballast] { std::filesystem::remove(ballast); });
}

// The log goes on in the same process, as soon as there is room.
TEST_F(MountedDiskTest, AnOpenStoreGoesOnOnceSpaceIsFreed) {
  const MemoryDisk disk(scratch_.path() / "tmpfs", std::int64_t{8} << 20);
  Result<std::unique_ptr<CommitLog>> log =
      CommitLog::open({.directory = disk.path() / "store", .file_bytes = kFileBytes});
  ASSERT_TRUE(log) << log.error().text();
  const std::string body(4096, 'b');
  const storage::Message message{.topic = "orders", .body = std::as_bytes(std::span(body))};
  Result<storage::AppendReceipt> receipt = (*log)->append_and_wait(message);
  for (int count = 0; receipt && count < 10'000; ++count) {
    receipt = (*log)->append_and_wait(message);
  }
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().code(), ErrorCode::kNoSpace) << receipt.error().text();
  EXPECT_FALSE((*log)->failure().has_value());
  disk.resize(std::int64_t{64} << 20);
  receipt = (*log)->append_and_wait(message);
  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_EQ(receipt->level.local, storage::LocalLevel::kDisk);
}

// The image is larger than what holds it: writes fail below the file system, with EIO at the sync
// that wanted them, as a dying disk's do.
TEST_F(MountedDiskTest, ADiskThatFailsWritesEndsTheStoreAndLosesNothingAcknowledged) {
  const MemoryDisk below(scratch_.path() / "below", std::int64_t{16} << 20);
  DiskImage disk(DiskKind::kExt4, below.path(), std::int64_t{64} << 20);
  WriterProcess writer({.store = disk.path() / "store", .file_bytes = kFileBytes});
  ASSERT_TRUE(writer.await_end(seconds(60)));
  EXPECT_EQ(writer.failure(), ErrorCode::kStoreFailed) << writer.errors();
  const std::vector<WriterReport> acknowledged = writer.acknowledged();
  EXPECT_GT(acknowledged.size(), 1000U);
  below.resize(std::int64_t{128} << 20);
  disk.unmount();
  disk.mount();
  for (const std::string& fault : faults_of({.store = disk.path() / "store",
                                             .file_bytes = kFileBytes,
                                             .acknowledged_level = storage::LocalLevel::kDisk},
                                            acknowledged)) {
    ADD_FAILURE() << fault;
  }
}

TEST_F(MountedDiskTest, AReadOnlyMountIsReadAndNotWritten) {
  DiskImage disk(DiskKind::kExt4, scratch_.path(), std::int64_t{24} << 20);
  const std::filesystem::path store = disk.path() / "store";
  WriterProcess writer({.store = store, .file_bytes = kFileBytes, .count = 100});
  ASSERT_TRUE(writer.await_end(seconds(30)));
  ASSERT_TRUE(writer.closed()) << writer.errors();
  disk.unmount();
  disk.mount(true);
  const auto opened = CommitLog::open({.directory = store});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kPermission) << opened.error().text();
  const auto looked = storage::ReadOnlyLog::open({.directory = store}, posix_file_system());
  ASSERT_TRUE(looked) << looked.error().text();
  EXPECT_EQ((*looked)->end().value, writer.acknowledged().back().end);
}

}  // namespace
}  // namespace kerolox::crash
