// Calls that fail, syncs that lose writes, disks that run full, and the crash in mid-flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "support/crash_test_disk.h"
#include "support/manual_clock.h"

namespace kerolox {
namespace {

using Mode = OpenOptions::Mode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CrashFaultsTest : public CrashTestDisk {};

TEST_F(CrashFaultsTest, AFailedSyncLosesItsWritesAndTheNextOneHidesThat) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  disk_.fail_sync(1);
  EXPECT_EQ(file->sync().error().os_error(), EIO);
  EXPECT_TRUE(file->sync());
  EXPECT_EQ(content("log"), "lost");

  disk_.crash(CrashKind::kPowerCut, 9);

  EXPECT_EQ(content("log"), "old.");
}

TEST_F(CrashFaultsTest, ForgettingRevealsTheLossOfItsPagesAlone) {
  const auto file = durable_file("log", std::string(8192, '.'));
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  ASSERT_TRUE(file->write_at(4096, as_bytes("lost")));
  disk_.fail_sync(1);
  EXPECT_FALSE(file->sync().has_value());
  file->forget(4096, 4096);
  EXPECT_EQ(content("log").substr(0, 4), "lost");
  EXPECT_EQ(content("log").substr(4096, 4), "....");
}

TEST_F(CrashFaultsTest, AFailedSyncLosesStoresThroughAMapping) {
  const auto file = durable_file("log", "old.");
  const auto region = file->map(0, 4096, true).value();
  region->bytes()[0] = std::byte{'l'};
  disk_.fail_sync(1);
  EXPECT_FALSE(file->sync().has_value());
  EXPECT_TRUE(file->sync());
  EXPECT_EQ(read_direct(*open("log", Mode::kReadOnly, true), 0), "old.");
  disk_.evict();
  EXPECT_EQ(region->bytes()[0], std::byte{'o'});
}

TEST_F(CrashFaultsTest, DirectReadsAndEvictionRevealTheLoss) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  disk_.fail_sync(1);
  EXPECT_FALSE(file->sync().has_value());
  const auto direct = open("log", Mode::kReadOnly, true);
  EXPECT_EQ(read_direct(*direct, 0), "old.");
  EXPECT_EQ(content("log"), "lost");
  disk_.evict();
  EXPECT_EQ(content("log"), "old.");
}

TEST_F(CrashFaultsTest, AProcessKillDoesNotRevealTheLoss) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  disk_.fail_sync(1);
  EXPECT_FALSE(file->sync().has_value());
  disk_.crash(CrashKind::kProcessKill);
  EXPECT_EQ(content("log"), "lost");
  EXPECT_TRUE(open("log")->sync());
  disk_.evict();
  EXPECT_EQ(content("log"), "old.");
}

TEST_F(CrashFaultsTest, WritingTheLostBytesAgainSavesThem) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  disk_.fail_sync(1);
  EXPECT_FALSE(file->sync().has_value());
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  EXPECT_TRUE(file->sync());
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log"), "lost");
}

TEST_F(CrashFaultsTest, EvictionKeepsWhatIsDirty) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("new!")));
  disk_.evict();
  EXPECT_EQ(content("log"), "new!");
}

TEST_F(CrashFaultsTest, OnlyTheChosenSyncFails) {
  const auto file = durable_file("log", "");
  disk_.fail_sync(2);
  EXPECT_TRUE(file->sync());
  EXPECT_FALSE(file->sync().has_value());
  EXPECT_TRUE(file->sync());
  disk_.fail_sync(1);
  disk_.clear_failures();
  EXPECT_TRUE(file->sync());
}

TEST_F(CrashFaultsTest, EveryKindOfCallCanBeMadeToFailAndIsCounted) {
  const auto file = durable_file("log", std::string(4096, '.'));
  std::vector<std::byte> buffer(10);
  const std::uint64_t before = disk_.calls_made();
  const auto fails = [&](const auto& call) {
    disk_.fail_call(1, ENOSPC);
    const auto result = call();
    return !result && result.error().code() == ErrorCode::kNoSpace;
  };
  EXPECT_TRUE(fails([&] { return file->read_at(0, buffer); }));
  EXPECT_TRUE(fails([&] { return file->write_at(0, buffer); }));
  EXPECT_TRUE(fails([&] { return file->sync(); }));
  EXPECT_TRUE(fails([&] { return file->resize(0); }));
  EXPECT_TRUE(fails([&] { return file->reserve(0, 10); }));
  EXPECT_TRUE(fails([&] { return file->status(); }));
  EXPECT_TRUE(fails([&] { return file->next_data(0); }));
  EXPECT_TRUE(fails([&] { return file->map(0, 4096, false); }));
  EXPECT_TRUE(fails([&] { return file->try_lock(); }));
  EXPECT_TRUE(fails([&] { return file->lock_holder(); }));
  EXPECT_TRUE(fails([&] { return disk_.open(path("new"), {.mode = Mode::kCreateNew}); }));
  EXPECT_TRUE(fails([&] { return disk_.status(path("log")); }));
  EXPECT_TRUE(fails([&] { return disk_.list("/store"); }));
  EXPECT_TRUE(fails([&] { return disk_.create_directories(path("d")); }));
  EXPECT_TRUE(fails([&] { return disk_.rename(path("log"), path("gol")); }));
  EXPECT_TRUE(fails([&] { return disk_.remove(path("log")); }));
  EXPECT_TRUE(fails([&] { return disk_.sync_directory("/store"); }));
  EXPECT_TRUE(fails([&] { return disk_.space("/store"); }));
  EXPECT_EQ(disk_.calls_made() - before, 18U);
  EXPECT_EQ(disk_.list("/store").value().size(), 1U);
  EXPECT_EQ(content("log").size(), 4096U);
}

TEST_F(CrashFaultsTest, AFailedWriteHasWrittenItsFirstHalf) {
  const auto file = durable_file("log", "12345678");
  disk_.fail_call(1, EIO);
  EXPECT_FALSE(file->write_at(0, as_bytes("abcdefgh")).has_value());
  EXPECT_EQ(content("log"), "abcd5678");
}

TEST_F(CrashFaultsTest, AFailedCallThatIsASyncLosesItsWrites) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("lost")));
  disk_.fail_call(1, EIO);
  EXPECT_FALSE(file->sync().has_value());
  EXPECT_TRUE(file->sync());
  disk_.evict();
  EXPECT_EQ(content("log"), "old.");
}

TEST_F(CrashFaultsTest, FromTheCrashPointOnNothingChanges) {
  const auto file = durable_file("log", std::string(4096, '.'));
  auto region = file->map(0, 4096, true).value();
  disk_.crash_at(2);
  region->bytes()[0] = std::byte{'a'};
  ASSERT_TRUE(file->write_at(1, as_bytes("b")));
  EXPECT_FALSE(disk_.crash_point_reached());
  EXPECT_EQ(file->sync().error().os_error(), EIO);
  EXPECT_TRUE(disk_.crash_point_reached());
  region->bytes()[2] = std::byte{'c'};
  EXPECT_EQ(file->write_at(3, as_bytes("d")).error().os_error(), EIO);
  EXPECT_EQ(disk_.remove(path("log")).error().os_error(), EIO);
  EXPECT_EQ(disk_.open(path("log"), {}).error().os_error(), EIO);
  region.reset();

  disk_.crash(CrashKind::kProcessKill);

  EXPECT_EQ(content("log").substr(0, 5), "ab...");
}

TEST_F(CrashFaultsTest, ACrashPointBeforeASyncLosesWhatTheSyncWouldHaveSaved) {
  const auto file = durable_file("log", "old.");
  ASSERT_TRUE(file->write_at(0, as_bytes("new!")));
  disk_.crash_at(1);
  EXPECT_FALSE(file->sync().has_value());
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log"), "old.");
  EXPECT_TRUE(open("log")->sync());
}

TEST_F(CrashFaultsTest, TheHookSeesEveryCallBeforeItHappensAndMayEndTheProcess) {
  struct Killed {};
  const auto file = durable_file("log", "old.");
  const std::uint64_t before = disk_.calls_made();
  std::vector<std::string> calls;
  disk_.set_call_hook([&](std::uint64_t ordinal, std::string_view call) {
    calls.emplace_back(call);
    if (ordinal == before + 3) {
      throw Killed{};
    }
  });
  EXPECT_TRUE(file->write_at(0, as_bytes("new!")));
  EXPECT_TRUE(file->sync());
  EXPECT_THROW(static_cast<void>(disk_.remove(path("log"))), Killed);
  disk_.set_call_hook(nullptr);
  EXPECT_THAT(calls, ElementsAre("pwrite", "fdatasync", "unlink"));
  EXPECT_EQ(content("log"), "new!");
}

TEST_F(CrashFaultsTest, AFullDiskRefusesBlocksAndKeepsWhatFitted) {
  const auto file = durable_file("log", std::string(4096, '.'));
  disk_.set_capacity(3 * 4096);
  EXPECT_EQ(disk_.space("/store").value().available_bytes, 2 * 4096);
  EXPECT_EQ(file->reserve(4096, 3 * 4096).error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(file->write_at(4096, std::vector<std::byte>(5 * 4096)).error().code(),
            ErrorCode::kNoSpace);
  EXPECT_EQ(file->status().value().bytes, 3 * 4096);
  EXPECT_EQ(disk_.space("/store").value().available_bytes, 0);
  EXPECT_TRUE(file->write_at(0, as_bytes("existing blocks")));
  ASSERT_TRUE(file->resize(4096));
  EXPECT_EQ(disk_.space("/store").value().available_bytes, 2 * 4096);
}

TEST_F(CrashFaultsTest, SpaceOfAnOpenFileIsFreedWhenItIsClosed) {
  auto file = durable_file("log", std::string(4096, '.'));
  disk_.set_capacity(2 * 4096);
  ASSERT_TRUE(disk_.remove(path("log")));
  EXPECT_EQ(disk_.space("/").value().available_bytes, 4096);
  file.reset();
  EXPECT_EQ(disk_.space("/").value().available_bytes, 2 * 4096);
  EXPECT_EQ(disk_.space("/").value().total_bytes, 2 * 4096);
}

TEST_F(CrashFaultsTest, ReservedBlocksCanBeWrittenOnAFullDisk) {
  const auto file = durable_file("log", "");
  ASSERT_TRUE(file->reserve(0, 8192));
  disk_.set_capacity(8192);
  EXPECT_EQ(open("other")->write_at(0, as_bytes("x")).error().code(), ErrorCode::kNoSpace);
  EXPECT_TRUE(file->write_at(0, std::vector<std::byte>(8192)));
  EXPECT_THAT(disk_.violations(), IsEmpty());
}

TEST_F(CrashFaultsTest, AReadOnlyDiskRefusesEveryChange) {
  durable_file("log", "text");
  disk_.set_read_only(true);
  EXPECT_EQ(disk_.open(path("log"), {.mode = Mode::kReadWrite}).error().os_error(), EROFS);
  EXPECT_EQ(disk_.open(path("new"), {.mode = Mode::kCreateNew}).error().os_error(), EROFS);
  EXPECT_EQ(disk_.create_directories(path("d")).error().os_error(), EROFS);
  EXPECT_EQ(disk_.rename(path("log"), path("gol")).error().os_error(), EROFS);
  EXPECT_EQ(disk_.remove(path("log")).error().os_error(), EROFS);
  EXPECT_TRUE(disk_.create_directories("/store"));
  EXPECT_EQ(content("log"), "text");
}

TEST_F(CrashFaultsTest, WhatAFileSystemMayLackIsUnsupported) {
  disk_.set_direct_supported(false);
  disk_.set_reserve_supported(false);
  const auto file = durable_file("log", "text");
  EXPECT_EQ(file->reserve(0, 10).error().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(disk_.open(path("log"), {.direct = true}).error().code(), ErrorCode::kUnsupported);
}

TEST_F(CrashFaultsTest, AReadOnlyFileRefusesChanges) {
  durable_file("log", "text");
  const auto file = open("log", Mode::kReadOnly);
  EXPECT_EQ(file->write_at(0, as_bytes("x")).error().os_error(), EBADF);
  EXPECT_EQ(file->resize(0).error().os_error(), EINVAL);
  EXPECT_EQ(file->reserve(0, 10).error().os_error(), EBADF);
}

TEST(ManualClockTest, MovesOnlyWhenToldTo) {
  ManualClock clock(1000);
  const MonotonicTime start = clock.monotonic();
  EXPECT_EQ(clock.wall_ms(), 1000);
  clock.advance(std::chrono::milliseconds(5));
  EXPECT_EQ(clock.wall_ms(), 1005);
  EXPECT_EQ(clock.monotonic() - start, std::chrono::milliseconds(5));
  clock.set_wall_ms(7);
  EXPECT_EQ(clock.wall_ms(), 7);
  EXPECT_EQ(clock.monotonic() - start, std::chrono::milliseconds(5));
}

}  // namespace
}  // namespace kerolox
