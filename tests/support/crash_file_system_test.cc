// The rules of the failing machine, one by one; names and faults have files of their own:
// crash_names_test.cc, crash_faults_test.cc.
#include "support/crash_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <set>
#include <thread>

#include "support/crash_test_disk.h"

namespace kerolox {
namespace {

using Mode = OpenOptions::Mode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CrashFileSystemTest : public CrashTestDisk {};

TEST_F(CrashFileSystemTest, ReadsBackAndEndsWithTheFile) {
  const auto file = durable_file("log", "one two");
  ASSERT_TRUE(file->write_at(4, as_bytes("TWO!")));
  EXPECT_EQ(read(*file, 0, 100), "one TWO!");
  EXPECT_EQ(read(*file, 8, 100), "");
  EXPECT_EQ(read(*file, 9'000, 100), "");
}

TEST_F(CrashFileSystemTest, AProcessKillKeepsWhatWasWrittenAndStored) {
  auto file = open("log");
  ASSERT_TRUE(file->write_at(0, as_bytes("written")));
  const auto region = file->map(0, 4096, true).value();
  region->bytes()[0] = std::byte{'W'};
  const std::string boot = disk_.boot_id();

  disk_.crash(CrashKind::kProcessKill);

  EXPECT_EQ(content("log"), "Written");
  EXPECT_EQ(disk_.boot_id(), boot);
  EXPECT_THAT(disk_.violations(), IsEmpty());
}

TEST_F(CrashFileSystemTest, APowerCutOfSeedZeroLeavesExactlyWhatWasSynced) {
  const auto file = durable_file("log", "synced");
  ASSERT_TRUE(file->write_at(0, as_bytes("LOST")));
  ASSERT_TRUE(file->write_at(6, as_bytes(" and longer")));
  const std::string boot = disk_.boot_id();

  disk_.crash(CrashKind::kPowerCut);

  EXPECT_EQ(content("log"), "synced");
  EXPECT_NE(disk_.boot_id(), boot);
}

TEST_F(CrashFileSystemTest, ASyncCoversStoresThroughAMapping) {
  const auto file = durable_file("log", std::string(4096, '.'));
  const auto region = file->map(0, 4096, true).value();
  region->bytes()[9] = std::byte{'x'};
  ASSERT_TRUE(file->sync());
  region->bytes()[10] = std::byte{'y'};

  disk_.crash(CrashKind::kPowerCut);

  EXPECT_EQ(content("log").substr(8, 4), ".x..");
}

TEST_F(CrashFileSystemTest, AMappingAndTheFileShareTheirBytes) {
  const auto file = durable_file("log", std::string(8192, '.'));
  const auto region = file->map(4096, 4096, true).value();
  const auto other = file->map(0, 8192, false).value();
  ASSERT_TRUE(file->write_at(4096, as_bytes("ab")));
  region->bytes()[1] = std::byte{'B'};
  EXPECT_EQ(read(*file, 4096, 3), "aB.");
  EXPECT_EQ(other->bytes()[4097], std::byte{'B'});
}

TEST_F(CrashFileSystemTest, EachDirtySectorIsOldOrNewOnItsOwn) {
  std::set<std::string> outcomes;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto file = durable_file("log", std::string(1024, 'o'));
    ASSERT_TRUE(file->write_at(0, as_bytes(std::string(1024, 'n'))));
    disk_.crash(CrashKind::kPowerCut, seed);
    const std::string left = content("log");
    ASSERT_THAT(left, SizeIs(1024));
    for (const std::size_t sector : {0U, 512U}) {
      const std::string part = left.substr(sector, 512);
      ASSERT_TRUE(part == std::string(512, 'o') || part == std::string(512, 'n')) << seed;
    }
    outcomes.insert({left[0], left[512]});
  }
  EXPECT_EQ(outcomes, (std::set<std::string>{"oo", "on", "no", "nn"}));
}

TEST_F(CrashFileSystemTest, ACleanSectorBesideADirtyOneNeverChanges) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto file = durable_file("log", std::string(1024, 'o'));
    ASSERT_TRUE(file->write_at(0, as_bytes(std::string(512, 'n'))));
    disk_.crash(CrashKind::kPowerCut, seed);
    ASSERT_EQ(content("log").substr(512), std::string(512, 'o')) << seed;
  }
}

TEST_F(CrashFileSystemTest, GarbageAppearsOnlyInBlocksThatWereNeverSynced) {
  int garbage = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const auto file = durable_file("log", std::string(4096, 'o'));
    ASSERT_TRUE(file->resize(8192));
    ASSERT_TRUE(file->sync());
    ASSERT_TRUE(file->write_at(0, as_bytes(std::string(8192, 'n'))));
    disk_.crash(CrashKind::kPowerCut, seed);
    const std::string left = content("log");
    ASSERT_EQ(left.substr(0, 4096).find_first_not_of("on"), std::string::npos) << seed;
    garbage += left.find_first_not_of(std::string("n\0", 2), 4096) != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(garbage, 50);
}

TEST_F(CrashFileSystemTest, AnUnsyncedLengthIsTheOldOrTheNewOne) {
  std::set<std::size_t> lengths;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto file = durable_file("log", std::string(1000, 'o'));
    ASSERT_TRUE(file->resize(5000));
    disk_.crash(CrashKind::kPowerCut, seed);
    const std::string left = content("log");
    lengths.insert(left.size());
    ASSERT_EQ(left, std::string(1000, 'o') + std::string(left.size() - 1000, '\0'));
  }
  EXPECT_EQ(lengths, (std::set<std::size_t>{1000, 5000}));
}

TEST_F(CrashFileSystemTest, APowerCutMayBringBackWhatWasCutOffUnlessThatWasSynced) {
  const auto file = durable_file("log", std::string(5000, 'o'));
  ASSERT_TRUE(file->resize(10));
  EXPECT_EQ(content("log"), std::string(10, 'o'));
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log"), std::string(5000, 'o'));

  const auto again = open("log");
  ASSERT_TRUE(again->resize(10));
  ASSERT_TRUE(again->resize(5000));
  ASSERT_TRUE(again->sync());
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log"), std::string(10, 'o') + std::string(4990, '\0'));
}

TEST_F(CrashFileSystemTest, TheSameSeedLeavesTheSameBytes) {
  std::set<std::string> outcomes;
  for (int run = 0; run < 3; ++run) {
    CrashFileSystem disk;
    auto file = disk.open("/log", {.mode = Mode::kCreateNew}).value();
    ASSERT_TRUE(disk.sync_directory("/"));
    ASSERT_TRUE(file->write_at(0, as_bytes(std::string(20'000, 'n'))));
    disk.crash(CrashKind::kPowerCut, 77);
    outcomes.insert(whole(disk, "/log"));
  }
  EXPECT_THAT(outcomes, SizeIs(1));
}

TEST_F(CrashFileSystemTest, FilesAndMappingsOfADeadProcessAreInert) {
  for (const CrashKind kind : {CrashKind::kProcessKill, CrashKind::kPowerCut}) {
    const auto file = durable_file("log", std::string(4096, 'o'));
    auto region = file->map(0, 4096, true).value();
    ASSERT_TRUE(file->try_lock().value());

    disk_.crash(kind);

    const auto next = open("log");
    EXPECT_TRUE(next->try_lock().value());
    EXPECT_EQ(file->write_at(0, as_bytes("zombie")).error().os_error(), EIO);
    EXPECT_EQ(file->sync().error().os_error(), EIO);
    EXPECT_EQ(file->lock_holder().error().os_error(), EIO);
    region->bytes()[0] = std::byte{'z'};
    region.reset();
    EXPECT_EQ(content("log"), std::string(4096, 'o'));
    EXPECT_FALSE(open("log")->try_lock().value());
  }
}

TEST_F(CrashFileSystemTest, MappingsOutliveTheFileAndTheFileSystem) {
  auto disk = std::make_unique<CrashFileSystem>();
  auto file = disk->open("/log", {.mode = Mode::kCreateNew}).value();
  ASSERT_TRUE(file->write_at(0, as_bytes("abc")));
  const auto region = file->map(0, 4096, true).value();
  file.reset();
  region->bytes()[0] = std::byte{'A'};
  EXPECT_EQ(whole(*disk, "/log"), "Abc");
  disk.reset();
  EXPECT_EQ(region->bytes()[1], std::byte{'b'});
}

TEST_F(CrashFileSystemTest, DirectReadsShowTheDiskAndWhatIsDirty) {
  const auto file = durable_file("log", std::string(8192, 'o'));
  ASSERT_TRUE(file->write_at(0, as_bytes("dirty")));
  const auto direct = open("log", Mode::kReadOnly, true);
  EXPECT_EQ(read_direct(*direct, 0).substr(0, 6), "dirtyo");
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log").substr(0, 6), "oooooo");
}

TEST_F(CrashFileSystemTest, DirectCallsMustBeAligned) {
  durable_file("log", std::string(8192, 'o'));
  const auto direct = open("log", Mode::kReadWrite, true);
  alignas(kDirectAlignment) std::array<std::byte, kDirectAlignment> buffer{};
  const auto tail = std::span(buffer).subspan(512);
  EXPECT_TRUE(direct->read_at(4096, buffer));
  EXPECT_EQ(direct->read_at(512, buffer).error().os_error(), EINVAL);
  EXPECT_EQ(direct->read_at(0, tail).error().os_error(), EINVAL);
  EXPECT_EQ(direct->write_at(0, tail).error().os_error(), EINVAL);
  EXPECT_TRUE(direct->write_at(0, buffer));
}

TEST_F(CrashFileSystemTest, ASparseFileOccupiesWhatWasWrittenOrReserved) {
  const auto file = durable_file("log", "");
  ASSERT_TRUE(file->resize(1 << 30));
  EXPECT_EQ(file->status().value().allocated_bytes, 0);
  EXPECT_EQ(file->next_data(0).value(), std::nullopt);
  ASSERT_TRUE(file->write_at(1 << 20, as_bytes("x")));
  ASSERT_TRUE(file->reserve(8192, 4096));
  EXPECT_EQ(file->status().value().allocated_bytes, 8192);
  EXPECT_EQ(file->status().value().bytes, 1 << 30);
  EXPECT_EQ(file->next_data(0).value(), 1 << 20);
  EXPECT_EQ(file->next_data((1 << 20) + 5).value(), (1 << 20) + 5);
  EXPECT_EQ(file->next_data((1 << 20) + 4096).value(), std::nullopt);
  EXPECT_EQ(file->next_data(std::int64_t{2} << 30).value(), std::nullopt);
}

TEST_F(CrashFileSystemTest, AReservationIsDurableAfterASync) {
  const auto file = durable_file("log", "");
  ASSERT_TRUE(file->reserve(0, 8192));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(file->reserve(8192, 4096));
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(disk_.status("/store/log").value().allocated_bytes, 8192);
  EXPECT_EQ(disk_.status("/store/log").value().bytes, 0);
}

TEST_F(CrashFileSystemTest, AStoreWithoutABlockIsAViolation) {
  const auto file = durable_file("log", "");
  ASSERT_TRUE(file->resize(3 * 4096));
  ASSERT_TRUE(file->reserve(0, 4096));
  ASSERT_TRUE(file->write_at(4096, as_bytes("w")));
  const auto region = file->map(0, 3 * 4096, true).value();
  region->bytes()[0] = std::byte{1};
  region->bytes()[5000] = std::byte{1};
  EXPECT_THAT(disk_.violations(), IsEmpty());
  region->bytes()[8192] = std::byte{1};
  ASSERT_TRUE(file->sync());
  ASSERT_THAT(disk_.violations(), SizeIs(1));
  EXPECT_THAT(disk_.violations()[0], HasSubstr("page at 8192 without a block"));
}

TEST_F(CrashFileSystemTest, AViolationIsSeenAtAnUnmapAndAtACrashToo) {
  const auto file = durable_file("log", "");
  ASSERT_TRUE(file->resize(2 * 4096));
  auto region = file->map(0, 4096, true).value();
  region->bytes()[0] = std::byte{1};
  region.reset();
  EXPECT_THAT(disk_.violations(), SizeIs(1));
  region = file->map(4096, 4096, true).value();
  region->bytes()[0] = std::byte{1};
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_THAT(disk_.violations(), SizeIs(2));
}

TEST_F(CrashFileSystemTest, StoresPastTheEndOrThroughAReadOnlyMappingAreViolations) {
  const auto file = durable_file("log", std::string(4096, '.'));
  const auto region = file->map(0, 8192, true).value();
  region->bytes()[4096] = std::byte{1};
  EXPECT_THAT(disk_.violations().at(0), HasSubstr("past the end"));
  durable_file("other", std::string(4096, '.'));
  const auto read_only = open("other", Mode::kReadOnly)->map(0, 4096, false).value();
  read_only->bytes()[0] = std::byte{1};
  EXPECT_THAT(disk_.violations().at(1), HasSubstr("read-only mapping"));
}

TEST_F(CrashFileSystemTest, AWrongMappingIsRefused) {
  durable_file("log", std::string(4096, '.'));
  const auto read_only = open("log", Mode::kReadOnly);
  EXPECT_EQ(read_only->map(0, 0, false).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_only->map(1, 10, false).error().os_error(), EINVAL);
  EXPECT_EQ(read_only->map(0, 4096, true).error().code(), ErrorCode::kPermission);
}

TEST_F(CrashFileSystemTest, LocksBelongToOneOpenAndGoWithIt) {
  auto first = open("lock");
  const auto second = open("lock");
  const auto reader = open("lock", Mode::kReadOnly);
  EXPECT_TRUE(first->try_lock().value());
  EXPECT_TRUE(first->try_lock().value());
  EXPECT_FALSE(first->lock_holder().value());
  EXPECT_FALSE(second->try_lock().value());
  EXPECT_TRUE(reader->lock_holder().value());
  EXPECT_EQ(reader->try_lock().error().os_error(), EBADF);
  open("lock").reset();
  EXPECT_FALSE(second->try_lock().value());
  first.reset();
  EXPECT_TRUE(second->try_lock().value());
}

TEST_F(CrashFileSystemTest, RotChangesCacheAndDisk) {
  durable_file("log", std::string(1000, 'o'));
  disk_.rot("/store/log", 10, as_bytes("ROT"));
  EXPECT_EQ(content("log").substr(9, 5), "oROTo");
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log").substr(9, 5), "oROTo");
}

TEST_F(CrashFileSystemTest, DiskContentIsWhatTheLastSyncLeft) {
  const auto file = durable_file("log", "synced");
  ASSERT_TRUE(file->write_at(0, as_bytes("not synced")));
  const auto disk = disk_.disk_content("/store/log");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(disk.data()), disk.size()), "synced");
}

TEST_F(CrashFileSystemTest, ThreadsMayUseItAtOnce) {
  std::vector<std::jthread> threads;
  for (const char* const name : {"a", "b", "c", "d"}) {
    threads.emplace_back([this, name] {
      const auto file = open(name);
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(file->write_at(i, as_bytes("x")));
        EXPECT_TRUE(file->sync());
        EXPECT_TRUE(disk_.sync_directory("/store"));
      }
    });
  }
  threads.clear();
  EXPECT_EQ(content("c"), std::string(200, 'x'));
}

TEST_F(CrashFileSystemTest, ASyncMayRunBesideStoresThroughAMapping) {
  const auto file = durable_file("log", std::string(4096, '.'));
  const auto region = file->map(0, 4096, true).value();
  std::jthread storing([&] {
    for (std::byte& byte : region->bytes()) {
      byte = std::byte{'x'};
    }
  });
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(file->sync());
    static_cast<void>(read(*file, 0, 4096));
  }
  storing.join();
  ASSERT_TRUE(file->sync());
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("log"), std::string(4096, 'x'));
}

}  // namespace
}  // namespace kerolox
