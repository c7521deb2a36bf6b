// The files around the log on a disk that loses power, fails calls, runs full, or is read-only.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include "storage/checkpoint.h"
#include "storage/java_files.h"
#include "storage/log_layout.h"
#include "storage/store_lock.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"

namespace kerolox::storage {
namespace {

const std::filesystem::path kStore = "/store";
const std::filesystem::path kOurs = kStore / "kerolox";

void make_store(CrashFileSystem& disk) {
  ASSERT_TRUE(disk.create_directories(kOurs));
  ASSERT_TRUE(disk.sync_directory("/"));
  ASSERT_TRUE(disk.sync_directory(kStore));
}

// Runs `scenario` with every call of it as the point of a crash, then `check` on what is left.
// `scenario` returns what it holds for acknowledged; crashes of both kinds, several seeds each.
template <typename Acknowledged>
void at_every_crash_point(const std::function<Acknowledged(CrashFileSystem&)>& scenario,
                          const std::function<void(CrashFileSystem&, Acknowledged)>& check) {
  int points = 0;
  for (std::uint64_t call = 1;; ++call) {
    bool reached = false;
    for (const std::uint64_t seed : {std::uint64_t{0}, call, call + 1000, call + 2000}) {
      for (const CrashKind kind : {CrashKind::kPowerCut, CrashKind::kProcessKill}) {
        SCOPED_TRACE("call " + std::to_string(call) + " seed " + std::to_string(seed));
        CrashFileSystem disk;
        make_store(disk);
        disk.crash_at(call);
        const Acknowledged acknowledged = scenario(disk);
        reached = disk.crash_point_reached();
        disk.crash(kind, seed);
        check(disk, acknowledged);
        ++points;
        if (::testing::Test::HasFailure()) {
          return;
        }
      }
    }
    if (!reached) {
      break;
    }
  }
  EXPECT_GT(points, 20);
}

Checkpoint checkpoint_at(std::int64_t synced, std::int32_t queues = 0) {
  Checkpoint checkpoint{.synced = PhysicalOffset{synced}, .written_limit = PhysicalOffset{synced}};
  for (std::int32_t queue = 0; queue < queues; ++queue) {
    checkpoint.queue_offsets.push_back(
        {"a-topic-whose-name-takes-some-room", QueueId{queue}, QueueOffset{synced}});
  }
  return checkpoint;
}

std::int64_t loaded_synced(FileSystem& disk) {
  CheckpointFiles files(kOurs, disk);
  const auto loaded = files.load();
  EXPECT_TRUE(loaded) << loaded.error().text();
  return loaded && *loaded ? (*loaded)->synced.value : 0;
}

struct Saves {
  std::int64_t acknowledged = 0;
  std::int64_t begun = 0;
};

// Saves 1, 2, ... 6, of sizes that grow and shrink, until one fails.
Saves save_six(FileSystem& disk) {
  CheckpointFiles files(kOurs, disk);
  Saves saves;
  if (!files.load()) {
    return saves;
  }
  for (std::int64_t synced = 1; synced <= 6; ++synced) {
    saves.begun = synced;
    if (!files.save(checkpoint_at(synced, synced % 2 == 0 ? 3000 : 10))) {
      return saves;
    }
    saves.acknowledged = synced;
  }
  return saves;
}

TEST(CheckpointCrashTest, ACrashLeavesTheLastCheckpointOrTheOneBeingSaved) {
  at_every_crash_point<Saves>(save_six, [](CrashFileSystem& disk, Saves saves) {
    const std::int64_t loaded = loaded_synced(disk);
    EXPECT_GE(loaded, saves.acknowledged);
    EXPECT_LE(loaded, saves.begun);
    // And the store goes on from there, through another power cut.
    CheckpointFiles files(kOurs, disk);
    ASSERT_TRUE(files.load());
    ASSERT_TRUE(files.save(checkpoint_at(100)));
    disk.crash(CrashKind::kPowerCut, 7);
    EXPECT_EQ(loaded_synced(disk), 100);
  });
}

TEST(CheckpointCrashTest, AFailingCallNeverCostsTheCheckpointBefore) {
  for (const int fault : {EIO, ENOSPC, EMFILE}) {
    for (std::uint64_t call = 1; call < 80; ++call) {
      SCOPED_TRACE("fault " + std::to_string(fault) + " at call " + std::to_string(call));
      CrashFileSystem disk;
      make_store(disk);
      disk.fail_call(call, fault);
      const Saves saves = save_six(disk);
      disk.clear_failures();
      disk.crash(CrashKind::kPowerCut, call);
      const std::int64_t loaded = loaded_synced(disk);
      ASSERT_GE(loaded, saves.acknowledged);
      ASSERT_LE(loaded, saves.begun);
    }
  }
}

TEST(CheckpointCrashTest, P4AFailedSyncIsNeverRetriedIntoASuccess) {
  CrashFileSystem disk;
  make_store(disk);
  CheckpointFiles files(kOurs, disk);
  ASSERT_TRUE(files.load());
  ASSERT_TRUE(files.save(checkpoint_at(1)));
  disk.fail_sync(1);
  const auto failed = files.save(checkpoint_at(2));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), ErrorCode::kIoError);
  const auto again = files.save(checkpoint_at(3));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().text(), failed.error().text());
  disk.crash(CrashKind::kPowerCut, 1);
  EXPECT_EQ(loaded_synced(disk), 1);
}

TEST(CheckpointCrashTest, AFailedWriteMayBeTriedAgainAndSparesTheGoodCopy) {
  CrashFileSystem disk;
  make_store(disk);
  CheckpointFiles files(kOurs, disk);
  ASSERT_TRUE(files.load());
  ASSERT_TRUE(files.save(checkpoint_at(1, 50)));
  ASSERT_TRUE(files.save(checkpoint_at(2, 50)));
  disk.fail_call(2, EIO);  // the write, after the look at the file
  ASSERT_FALSE(files.save(checkpoint_at(3, 50)));
  EXPECT_EQ(loaded_synced(disk), 2);
  ASSERT_TRUE(files.save(checkpoint_at(4)));
  disk.crash(CrashKind::kPowerCut, 3);
  EXPECT_EQ(loaded_synced(disk), 4);
}

std::int64_t used_bytes(CrashFileSystem& disk) {
  const auto space = disk.space("/");
  EXPECT_TRUE(space);
  return space->total_bytes - space->available_bytes;
}

TEST(CheckpointCrashTest, AFullDiskDoesNotStopTheNextCheckpoints) {
  CrashFileSystem disk;
  make_store(disk);
  disk.set_capacity(std::int64_t{1} << 30);
  CheckpointFiles files(kOurs, disk);
  ASSERT_TRUE(files.load());
  ASSERT_TRUE(files.save(checkpoint_at(1, 2000)));
  ASSERT_TRUE(files.save(checkpoint_at(2, 2000)));
  disk.set_capacity(used_bytes(disk));
  for (std::int64_t round = 3; round < 9; ++round) {
    const auto saved =
        files.save(checkpoint_at(round, 2000 + static_cast<std::int32_t>(round) * 100));
    ASSERT_TRUE(saved) << saved.error().text();
  }
  disk.crash(CrashKind::kPowerCut, 5);
  EXPECT_EQ(loaded_synced(disk), 8);
}

TEST(CheckpointCrashTest, ACheckpointThatOutgrowsAFullDiskIsRefusedAndTheOneBeforeStays) {
  CrashFileSystem disk;
  make_store(disk);
  disk.set_capacity(std::int64_t{1} << 30);
  CheckpointFiles files(kOurs, disk);
  ASSERT_TRUE(files.load());
  ASSERT_TRUE(files.save(checkpoint_at(1)));
  disk.set_capacity(used_bytes(disk));
  const auto refused = files.save(checkpoint_at(2, 20000));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(loaded_synced(disk), 1);
  disk.set_capacity(std::int64_t{1} << 30);
  EXPECT_TRUE(files.save(checkpoint_at(3, 20000)));
  EXPECT_EQ(loaded_synced(disk), 3);
}

TEST(CheckpointCrashTest, AReadOnlyFileSystemIsNoPermission) {
  CrashFileSystem disk;
  make_store(disk);
  ASSERT_EQ(save_six(disk).acknowledged, 6);
  disk.set_read_only(true);
  CheckpointFiles files(kOurs, disk);
  ASSERT_TRUE(files.load());
  const auto saved = files.save(checkpoint_at(7));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code(), ErrorCode::kPermission);
  EXPECT_EQ(loaded_synced(disk), 6);
}

TEST(CheckpointCrashTest, ACopyThatMayNotBeReadIsAnErrorNotAMissingOne) {
  CrashFileSystem disk;
  make_store(disk);
  ASSERT_EQ(save_six(disk).acknowledged, 6);
  for (const auto& [fault, code] :
       {std::pair{EACCES, ErrorCode::kPermission}, std::pair{EIO, ErrorCode::kIoError}}) {
    disk.fail_call(1, fault);
    CheckpointFiles files(kOurs, disk);
    const auto loaded = files.load();
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().code(), code);
  }
}

JavaCheckpoint java_at(std::int64_t time) {
  return {.physic_timestamp_ms = time,
          .logics_timestamp_ms = time,
          .index_timestamp_ms = time,
          .master_flushed = PhysicalOffset{time},
          .confirm = PhysicalOffset{time}};
}

TEST(JavaFilesCrashTest, ACrashLeavesOneWholeCheckpoint) {
  const auto scenario = [](CrashFileSystem& disk) {
    JavaFiles files(kStore, disk);
    Saves saves;
    for (std::int64_t time = 1; time <= 3; ++time) {
      saves.begun = time;
      if (!files.save_checkpoint(java_at(time))) {
        break;
      }
      saves.acknowledged = time;
    }
    return saves;
  };
  at_every_crash_point<Saves>(scenario, [](CrashFileSystem& disk, Saves saves) {
    JavaFiles files(kStore, disk);
    const auto loaded = files.load_checkpoint();
    ASSERT_TRUE(loaded);
    ASSERT_TRUE(loaded->has_value() || saves.acknowledged == 0);
    const JavaCheckpoint found = loaded->value_or(JavaCheckpoint{});
    EXPECT_GE(found.physic_timestamp_ms, saves.acknowledged);
    EXPECT_LE(found.physic_timestamp_ms, saves.begun);
    EXPECT_EQ(found.confirm.value, found.physic_timestamp_ms);
    EXPECT_TRUE(files.save_checkpoint(java_at(9)));
    EXPECT_EQ(files.load_checkpoint()->value().confirm, PhysicalOffset{9});
  });
}

TEST(JavaFilesCrashTest, W8AbortIsOnDiskWhenItsCallReturns) {
  const auto scenario = [](CrashFileSystem& disk) {
    return JavaFiles(kStore, disk).create_abort().has_value();
  };
  at_every_crash_point<bool>(scenario, [](CrashFileSystem& disk, bool acknowledged) {
    JavaFiles files(kStore, disk);
    EXPECT_TRUE(*files.abort_exists() || !acknowledged);
    if (acknowledged) {
      EXPECT_GT(files.abort_pid()->value_or(-1), 0);
    }
  });
}

TEST(JavaFilesCrashTest, W8TheRemovalOfAbortIsOnDiskWhenItsCallReturns) {
  const auto scenario = [](CrashFileSystem& disk) {
    JavaFiles files(kStore, disk);
    return files.create_abort() && files.remove_abort();
  };
  at_every_crash_point<bool>(scenario, [](CrashFileSystem& disk, bool acknowledged) {
    EXPECT_TRUE(!acknowledged || !*JavaFiles(kStore, disk).abort_exists());
  });
}

class StoreLockCrashTest : public ::testing::Test {
 protected:
  Result<StoreLock> take() { return StoreLock::take(kStore, disk_, clock_); }
  ErrorCode refusal() {
    const auto taken = take();
    EXPECT_FALSE(taken);
    EXPECT_FALSE(taken.error().remedy().empty()) << taken.error().text();
    return taken.error().code();
  }

  CrashFileSystem disk_;
  ManualClock clock_;
};

TEST_F(StoreLockCrashTest, ALockLeftByADeadProcessIsFree) {
  const auto lock = take();
  ASSERT_TRUE(lock);
  EXPECT_EQ(refusal(), ErrorCode::kLocked);
  disk_.crash(CrashKind::kProcessKill);
  EXPECT_FALSE(StoreLock::held(kStore, disk_).value());
  EXPECT_TRUE(take());
}

TEST_F(StoreLockCrashTest, TheStoresFoldersAreOnDiskWhenTheLockIsTaken) {
  ASSERT_TRUE(take());
  disk_.crash(CrashKind::kPowerCut);
  EXPECT_TRUE(disk_.status(kOurs));
}

TEST_F(StoreLockCrashTest, AReadOnlyFileSystemIsNoPermissionWithAWayOut) {
  disk_.set_read_only(true);
  EXPECT_EQ(refusal(), ErrorCode::kPermission);
  disk_.set_read_only(false);
  make_store(disk_);
  disk_.set_read_only(true);
  EXPECT_EQ(refusal(), ErrorCode::kPermission);
  EXPECT_FALSE(StoreLock::held(kStore, disk_).value());
}

TEST_F(StoreLockCrashTest, AFullDiskDoesNotKeepAnExistingStoreFromOpening) {
  {
    ASSERT_TRUE(take());
  }
  disk_.set_capacity(4096);
  EXPECT_TRUE(take());
}

TEST_F(StoreLockCrashTest, AFullDiskRefusesANewStore) {
  disk_.set_capacity(0);
  EXPECT_EQ(refusal(), ErrorCode::kNoSpace);
}

TEST_F(StoreLockCrashTest, AFailingCallLeavesNoLockBehind) {
  for (std::uint64_t call = 1; call < 30; ++call) {
    disk_.fail_call(call, EIO);
    {
      static_cast<void>(take());
    }
    disk_.clear_failures();
    EXPECT_FALSE(StoreLock::held(kStore, disk_).value()) << call;
  }
  EXPECT_TRUE(take());
}

TEST_F(StoreLockCrashTest, ALockFileThatIsReplacedMeanwhileIsNotTheLock) {
  {
    ASSERT_TRUE(take());
  }
  // Between our lock and our look at its name somebody puts another file there.
  bool replaced = false;
  disk_.set_call_hook([&](std::uint64_t, std::string_view call) {
    if (call == "fcntl(F_OFD_SETLK)" && !replaced) {
      replaced = true;
      ASSERT_TRUE(disk_.remove(kStore / "lock"));
    }
  });
  const auto lock = take();
  ASSERT_TRUE(lock) << lock.error().text();
  ASSERT_TRUE(replaced);
  EXPECT_TRUE(StoreLock::held(kStore, disk_).value());
}

TEST(LogLayoutFaultTest, EveryFailingCallIsAnErrorNeverAShorterLog) {
  CrashFileSystem disk;
  make_store(disk);
  ASSERT_TRUE(disk.create_directories(kStore / "commitlog"));
  for (const std::int64_t base : {0, 4096, 8192}) {
    const auto file = disk.open(kStore / "commitlog" / log_file_name(PhysicalOffset{base}),
                                {.mode = OpenOptions::Mode::kCreateNew});
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->resize(4096));
  }
  for (const auto& [fault, code] :
       {std::pair{EACCES, ErrorCode::kPermission}, std::pair{EIO, ErrorCode::kIoError}}) {
    for (std::uint64_t call = 1; call <= 4; ++call) {  // one list, three files
      disk.fail_call(call, fault);
      const auto layout = read_log_layout({kStore / "commitlog"}, 0, disk);
      disk.clear_failures();
      ASSERT_FALSE(layout) << call;
      EXPECT_EQ(layout.error().code(), code);
      EXPECT_FALSE(layout.error().place().empty());
    }
    disk.fail_call(1, fault);
    const auto supported = check_supported(kStore, true, disk);
    disk.clear_failures();
    ASSERT_FALSE(supported);
    EXPECT_EQ(supported.error().code(), code);
  }
  EXPECT_EQ(read_log_layout({kStore / "commitlog"}, 0, disk)->files.size(), 3U);
}

}  // namespace
}  // namespace kerolox::storage
