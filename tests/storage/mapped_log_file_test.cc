#include "storage/mapped_log_file.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "support/crash_test_disk.h"

namespace kerolox::storage {
namespace {

constexpr std::int64_t kBytes = 16384;

class MappedLogFileTest : public CrashTestDisk {
 protected:
  std::unique_ptr<MappedLogFile> open_log(PrepareMode mode = PrepareMode::kWriteZeros,
                                          std::int64_t used = 0) {
    std::unique_ptr<File> file = open("log");
    EXPECT_TRUE(file->resize(kBytes));
    auto opened = MappedLogFile::open({.path = path("log"),
                                       .base = PhysicalOffset{0},
                                       .bytes = kBytes,
                                       .prepare_mode = mode,
                                       .used_bytes = used},
                                      std::move(file), disk_);
    EXPECT_TRUE(opened) << opened.error().text();
    return *std::move(opened);
  }
  void TearDown() override { EXPECT_THAT(disk_.violations(), ::testing::IsEmpty()); }
};

TEST_F(MappedLogFileTest, PreparesInStepsOfPagesAndNeverBeyondTheFile) {
  for (const PrepareMode mode : {PrepareMode::kReserve, PrepareMode::kWriteZeros}) {
    const auto file = open_log(mode, 100);
    EXPECT_EQ(file->prepared_bytes(), 4096) << "the page of the last used byte has its block";
    ASSERT_TRUE(file->prepare(4097));
    EXPECT_EQ(file->prepared_bytes(), 8192);
    ASSERT_TRUE(file->prepare(10));
    EXPECT_EQ(file->prepared_bytes(), 8192);
    ASSERT_TRUE(file->prepare(10 * kBytes));
    EXPECT_EQ(file->prepared_bytes(), kBytes);
    EXPECT_EQ(disk_.status(path("log"))->allocated_bytes, kBytes - 4096);
    ASSERT_TRUE(disk_.remove(path("log")));
  }
}

TEST_F(MappedLogFileTest, W8WhereBlocksCannotBeReservedZerosAreWrittenInstead) {
  disk_.set_reserve_supported(false);
  const auto file = open_log(PrepareMode::kReserve);
  ASSERT_TRUE(file->prepare(kBytes));
  file->fill(kBytes - 4, as_bytes("tail"));
  EXPECT_EQ(content("log").substr(kBytes - 4), "tail");
}

TEST_F(MappedLogFileTest, W8AFullDiskIsAnErrorOfThePreparationAndTheFileStaysAsItWas) {
  const auto file = open_log();
  disk_.set_capacity(8192);
  EXPECT_EQ(file->prepare(kBytes).error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(file->prepared_bytes(), 0);
  disk_.set_capacity(1 << 20);
  EXPECT_TRUE(file->prepare(kBytes));
}

TEST_F(MappedLogFileTest, WhatIsFilledIsThereAtOnceAndOnDiskAfterTheFlush) {
  const auto file = open_log();
  ASSERT_TRUE(file->prepare(4096));
  file->fill(10, as_bytes("record"));
  file->publish(16);
  const PinnedBytes pinned = file->pin(10, 6);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(pinned.bytes.data()), 6), "record");

  file->request_flush(16);
  const auto durable = file->complete_flush();
  ASSERT_TRUE(durable);
  EXPECT_GE(*durable, 16);
  ASSERT_TRUE(disk_.sync_directory("/store"));
  disk_.crash(CrashKind::kPowerCut, 9);
  EXPECT_EQ(content("log").substr(10, 6), "record");
}

TEST_F(MappedLogFileTest, P4AFailedFlushIsReported) {
  const auto file = open_log(PrepareMode::kReserve);
  ASSERT_TRUE(file->prepare(4096));
  file->fill(0, as_bytes("record"));
  file->request_flush(6);
  disk_.fail_sync(1);
  EXPECT_FALSE(file->complete_flush());
}

TEST_F(MappedLogFileTest, PinnedBytesOutliveTheReleaseAndTheFile) {
  auto file = open_log();
  ASSERT_TRUE(file->prepare(4096));
  file->fill(0, as_bytes("pinned"));
  const PinnedBytes pinned = file->pin(0, 6);
  file->release_memory();
  EXPECT_TRUE(file->pin(0, 6).bytes.empty());
  file.reset();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(pinned.bytes.data()), 6), "pinned");
}

TEST_F(MappedLogFileTest, ClearZeroesDurablyAndOnlyWhatItIsTold) {
  const auto file = open_log();
  ASSERT_TRUE(file->prepare(kBytes));
  file->fill(0, as_bytes(std::string(kBytes, 'x')));
  ASSERT_TRUE(file->clear(100, 9000));
  ASSERT_TRUE(disk_.sync_directory("/store"));
  disk_.crash(CrashKind::kPowerCut, 2);
  const std::string left = content("log");
  EXPECT_EQ(left.substr(0, 100), std::string(100, 'x'));
  EXPECT_EQ(left.substr(100, 8900), std::string(8900, '\0'));
  EXPECT_EQ(left.substr(9000), std::string(kBytes - 9000, 'x'));
}

TEST_F(MappedLogFileTest, P4AnotherNameAnotherLengthOrNoNameIsAFailure) {
  const auto file = open_log();
  EXPECT_TRUE(file->check_name());
  ASSERT_TRUE(disk_.rename(path("log"), path("moved")));
  EXPECT_EQ(file->check_name().error().code(), ErrorCode::kStoreFailed);
  ASSERT_TRUE(disk_.rename(path("moved"), path("log")));
  EXPECT_TRUE(file->check_name());
  ASSERT_TRUE(open("log")->resize(kBytes / 2));
  EXPECT_EQ(file->check_name().error().code(), ErrorCode::kStoreFailed);
  ASSERT_TRUE(open("log")->resize(kBytes));
  ASSERT_TRUE(disk_.remove(path("log")));
  EXPECT_EQ(file->check_name().error().code(), ErrorCode::kStoreFailed);
  open("log");  // another file with its name
  EXPECT_EQ(file->check_name().error().code(), ErrorCode::kStoreFailed);
}

}  // namespace
}  // namespace kerolox::storage
