// Names, and what a power cut leaves of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>
#include <set>

#include "support/crash_test_disk.h"

namespace kerolox {
namespace {

using Mode = OpenOptions::Mode;
using ::testing::HasSubstr;

class CrashNamesTest : public CrashTestDisk {
 protected:
  // What list() shows after power cuts of many seeds: each outcome once.
  std::set<std::string> outcomes_of_power_cuts(const std::function<void(CrashFileSystem&)>& act) {
    std::set<std::string> outcomes;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      CrashFileSystem disk;
      EXPECT_TRUE(disk.create_directories("/d/e"));
      for (const char* const directory : {"/", "/d"}) {
        EXPECT_TRUE(disk.sync_directory(directory));
      }
      act(disk);
      disk.crash(CrashKind::kPowerCut, seed);
      outcomes.insert(names(disk, "/d") + "| " + names(disk, "/d/e"));
    }
    return outcomes;
  }

  static std::string names(CrashFileSystem& disk, const char* directory) {
    std::string text;
    const auto entries = disk.list(directory);
    EXPECT_TRUE(entries) << entries.error().text();
    for (const DirectoryEntry& entry : entries.value()) {
      text += entry.directory ? "" : entry.name + " ";
    }
    return text;
  }

  static void create(CrashFileSystem& disk, const char* path, std::string_view text = "") {
    auto file = disk.open(path, {.mode = Mode::kCreateNew});
    ASSERT_TRUE(file) << file.error().text();
    EXPECT_TRUE(file.value()->write_at(0, as_bytes(text)));
    EXPECT_TRUE(file.value()->sync());
  }
};

using Outcomes = std::set<std::string>;

TEST_F(CrashNamesTest, ANewNameMayVanishUntilItsDirectoryIsSynced) {
  EXPECT_EQ(outcomes_of_power_cuts([](CrashFileSystem& disk) { create(disk, "/d/f"); }),
            (Outcomes{"| ", "f | "}));
  EXPECT_EQ(outcomes_of_power_cuts([](CrashFileSystem& disk) {
              create(disk, "/d/f");
              EXPECT_TRUE(disk.sync_directory("/d"));
            }),
            (Outcomes{"f | "}));
}

TEST_F(CrashNamesTest, ARemovedNameMayComeBackWithItsContent) {
  durable_file("f", "old");
  ASSERT_TRUE(disk_.remove(path("f")));
  EXPECT_FALSE(exists("f"));
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_EQ(content("f"), "old");
  ASSERT_TRUE(disk_.remove(path("f")));
  ASSERT_TRUE(disk_.sync_directory("/store"));
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_FALSE(exists("f"));
}

TEST_F(CrashNamesTest, ARenameHappensWholeOrNotAtAll) {
  EXPECT_EQ(outcomes_of_power_cuts([](CrashFileSystem& disk) {
              create(disk, "/d/a");
              EXPECT_TRUE(disk.sync_directory("/d"));
              EXPECT_TRUE(disk.rename("/d/a", "/d/e/b"));
            }),
            (Outcomes{"a | ", "| b "}));
}

TEST_F(CrashNamesTest, ARenameIsDurableOnceBothDirectoriesAreSynced) {
  const auto rename = [](CrashFileSystem& disk) {
    create(disk, "/d/a");
    EXPECT_TRUE(disk.sync_directory("/d"));
    EXPECT_TRUE(disk.rename("/d/a", "/d/e/b"));
    EXPECT_TRUE(disk.sync_directory("/d/e"));
  };
  EXPECT_EQ(outcomes_of_power_cuts(rename), (Outcomes{"a | ", "| b "}));
  EXPECT_EQ(outcomes_of_power_cuts([&](CrashFileSystem& disk) {
              rename(disk);
              EXPECT_TRUE(disk.sync_directory("/d"));
            }),
            (Outcomes{"| b "}));
}

TEST_F(CrashNamesTest, ARenameNeverSurvivesWithoutTheNameItMoves) {
  EXPECT_EQ(outcomes_of_power_cuts([](CrashFileSystem& disk) {
              create(disk, "/d/a");
              EXPECT_TRUE(disk.rename("/d/a", "/d/b"));
            }),
            (Outcomes{"| ", "a | ", "b | "}));
}

TEST_F(CrashNamesTest, ChangesOfDifferentNamesSurviveInAnyCombination) {
  EXPECT_EQ(outcomes_of_power_cuts([](CrashFileSystem& disk) {
              create(disk, "/d/a");
              create(disk, "/d/b");
            }),
            (Outcomes{"| ", "a | ", "b | ", "a b | "}));
}

TEST_F(CrashNamesTest, ReplacingAFileLeavesTheOldOrTheNewContent) {
  std::set<std::string> contents;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    durable_file("config", "old");
    durable_file("temporary", "new");
    ASSERT_TRUE(disk_.rename(path("temporary"), path("config")));
    EXPECT_EQ(content("config"), "new");
    disk_.crash(CrashKind::kPowerCut, seed);
    contents.insert(content("config"));
  }
  EXPECT_EQ(contents, (std::set<std::string>{"old", "new"}));
}

TEST_F(CrashNamesTest, SyncingAFileDoesNotSyncItsName) {
  ASSERT_TRUE(open("f")->sync());
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_FALSE(exists("f"));
}

TEST_F(CrashNamesTest, ADirectoryVanishesWithAllItHoldsUntilItsParentIsSynced) {
  ASSERT_TRUE(disk_.create_directories("/store/a/b"));
  create(disk_, "/store/a/b/f");
  ASSERT_TRUE(disk_.sync_directory("/store/a/b"));
  ASSERT_TRUE(disk_.sync_directory("/store/a"));
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_FALSE(exists("a"));

  ASSERT_TRUE(disk_.create_directories("/store/a/b"));
  create(disk_, "/store/a/b/f");
  for (const char* const directory : {"/store/a/b", "/store/a", "/store"}) {
    ASSERT_TRUE(disk_.sync_directory(directory));
  }
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_TRUE(exists("a/b/f"));
}

TEST_F(CrashNamesTest, AProcessKillKeepsEveryName) {
  open("f");
  ASSERT_TRUE(disk_.create_directories("/store/a/b"));
  disk_.crash(CrashKind::kProcessKill);
  EXPECT_TRUE(exists("f"));
  EXPECT_TRUE(exists("a/b"));
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_FALSE(exists("f"));
}

TEST_F(CrashNamesTest, AnOpenFileLivesOnWithoutItsName) {
  const auto file = durable_file("f", "text");
  EXPECT_EQ(file->status().value().link_count, 1);
  ASSERT_TRUE(disk_.remove(path("f")));
  EXPECT_EQ(file->status().value().link_count, 0);
  EXPECT_EQ(read(*file, 0, 9), "text");
  const auto other = open("f");
  EXPECT_NE(other->status().value().inode, file->status().value().inode);
}

TEST_F(CrashNamesTest, AnInodeKeepsItsNumber) {
  durable_file("f", "text");
  const std::uint64_t inode = disk_.status(path("f")).value().inode;
  ASSERT_TRUE(disk_.rename(path("f"), path("g")));
  EXPECT_EQ(disk_.status(path("g")).value().inode, inode);
  ASSERT_TRUE(disk_.sync_directory("/store"));
  disk_.crash(CrashKind::kPowerCut, 5);
  EXPECT_EQ(disk_.status(path("g")).value().inode, inode);
}

TEST_F(CrashNamesTest, WrongNamesAreRefusedAsTheKernelDoes) {
  durable_file("f", "");
  ASSERT_TRUE(disk_.create_directories("/store/full/d"));
  const auto error = [](const auto& result) { return result.error().os_error(); };
  EXPECT_EQ(error(disk_.open(path("none"), {})), ENOENT);
  EXPECT_EQ(error(disk_.open(path("none/f"), {.mode = Mode::kCreateNew})), ENOENT);
  EXPECT_EQ(error(disk_.open(path("f"), {.mode = Mode::kCreateNew})), EEXIST);
  EXPECT_EQ(error(disk_.open(path("full"), {.mode = Mode::kReadWrite})), EISDIR);
  EXPECT_EQ(error(disk_.open(path("f/x"), {})), ENOTDIR);
  EXPECT_EQ(error(disk_.list(path("f"))), ENOTDIR);
  EXPECT_EQ(error(disk_.create_directories(path("f"))), EEXIST);
  EXPECT_EQ(error(disk_.create_directories(path("f/x"))), ENOTDIR);
  EXPECT_EQ(error(disk_.remove(path("full"))), ENOTEMPTY);
  EXPECT_EQ(error(disk_.remove(path("none"))), ENOENT);
  EXPECT_EQ(error(disk_.rename(path("f"), path("full"))), EISDIR);
  EXPECT_EQ(error(disk_.rename(path("full"), path("f"))), ENOTDIR);
  EXPECT_EQ(error(disk_.rename(path("full"), path("full/d/e"))), EINVAL);
  EXPECT_EQ(error(disk_.sync_directory(path("f"))), ENOTDIR);
  EXPECT_THAT(disk_.remove(path("none")).error().text(), HasSubstr("/store/none: unlink: "));
}

TEST_F(CrashNamesTest, PathsMayBeWrittenInSeveralWays) {
  durable_file("f", "text");
  EXPECT_TRUE(disk_.status("store/./x/../f"));
  EXPECT_TRUE(disk_.status("/store//f"));
  EXPECT_TRUE(disk_.create_directories("/store/d/"));
  EXPECT_TRUE(disk_.status("/store/d").value().directory);
}

}  // namespace
}  // namespace kerolox
