// Recovery is killed, or loses power, at its first, second, third ... call of the file system, over
// and over: whatever is left recovers to the same end with the same records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "storage/recovery_fixture.h"

namespace kerolox::storage {
namespace {

using Bodies = std::vector<std::string>;

// What stands on the disk, and in memory, when recovery begins.
struct Scenario {
  const char* name;
  void (*prepare)(RecoveryStore& store);
  // Whether some of what must be recovered is in memory alone, so that a power cut in the middle of
  // recovery may take it: nobody was told that it was on disk.
  bool in_memory = false;
};

std::unique_ptr<File> open_log(RecoveryStore& store, PhysicalOffset base) {
  auto file = store.disk_.open(RecoveryStore::log_directory() / log_file_name(base),
                               {.mode = OpenOptions::Mode::kReadWrite});
  EXPECT_TRUE(file) << file.error().text();
  return std::move(file).value();
}

// Writes [from, to) of the builder's log into the files that are there already, in memory.
void write_in_memory(RecoveryStore& store, PhysicalOffset from, PhysicalOffset to) {
  const auto file =
      open_log(store, file_end_of(from, store.log_.file_bytes()) - store.log_.file_bytes());
  EXPECT_TRUE(file->write_at(from.value % store.log_.file_bytes(), store.log_.bytes(from, to)));
}

// Its lost part, seen as other bytes now, was zeros: zeroing that part would make it whole again.
void torn_tail(RecoveryStore& store) {
  store.log_.append("kept 1");
  store.log_.append("kept 2");
  const PhysicalOffset torn = store.log_.append(std::string(9000, '\0'));
  store.log_.overwrite(torn + 5000, std::string(512, '#'));
  store.log_.roll();
  store.log_.append("in a later file");
  store.log_.roll();
  store.write_log();
  store.save(store.checkpoint_at(store.log_.records()[1]));
}

void records_in_memory(RecoveryStore& store) {
  store.log_.append("synced");
  const PhysicalOffset synced = store.log_.end();
  store.write_log();
  store.save(store.checkpoint_at(synced));
  for (int i = 0; i < 60; ++i) {
    store.log_.append("in memory " + std::to_string(i));
  }
  write_in_memory(store, synced, store.log_.end() - 7);
}

void failed_sync(RecoveryStore& store) {
  records_in_memory(store);
  store.disk_.fail_sync(1);
  EXPECT_FALSE(open_log(store, store.log_.min())->sync());
}

void begun_truncation(RecoveryStore& store) {
  store.log_.append("kept");
  const PhysicalOffset cut = store.log_.append("goes");
  store.log_.append("goes, too");
  store.log_.roll();
  store.log_.append("goes with its file");
  store.write_log();
  Checkpoint checkpoint = store.checkpoint_at(cut);
  checkpoint.cut_to = cut;
  store.save(checkpoint);
}

void killed_java_store(RecoveryStore& store) {
  store.log_.append("one", {.record_crc = false});
  store.log_.roll();
  const PhysicalOffset rotten = store.log_.append("rotten", {.record_crc = false});
  store.log_.append("two", {.record_crc = false});
  store.make_java_store(store.log_.last_timestamp_ms() + 3000, true);
  store.log_.append("three", {.record_crc = false});
  store.log_.append("torn", {.record_crc = false});
  store.log_.at(rotten + 90) ^= std::byte{1};
  store.log_.zero(store.log_.end() - 20, store.log_.end());
  store.log_.roll();  // a spare file
  store.log_.zero(store.log_.records().back() + 80, PhysicalOffset{2 * 16384});
  store.write_log();
}

void missing_next_file(RecoveryStore& store) {
  store.log_.append("kept");
  store.log_.roll();
  store.log_.append("missing");
  store.log_.roll();
  store.log_.append("behind the gap");
  store.log_.remove_file(PhysicalOffset{16384});
  store.write_log();
  store.save(store.checkpoint_at(store.log_.min()));
}

void no_direct_reads(RecoveryStore& store) {
  records_in_memory(store);
  store.disk_.set_direct_supported(false);
}

constexpr Scenario kScenarios[] = {
    {"torn tail", torn_tail},
    {"records in memory", records_in_memory, true},
    {"failed sync", failed_sync, true},
    {"begun truncation", begun_truncation},
    {"killed Java store", killed_java_store},
    {"missing next file", missing_next_file},
    {"no direct reads", no_direct_reads, true},
};

struct Outcome {
  PhysicalOffset end;
  Bodies bodies;
};

Outcome recover_whole(RecoveryStore& store) {
  const RecoveredLog recovered = store.recover();
  return {recovered.report.end, store.bodies()};
}

bool is_prefix(const Bodies& shorter, const Bodies& longer) {
  return shorter.size() <= longer.size() &&
         std::equal(shorter.begin(), shorter.end(), longer.begin());
}

// What must hold once a recovery has come to its end: a second one changes nothing, and power may
// go.
void expect_settled(RecoveryStore& store, const Outcome& outcome, std::uint64_t seed) {
  const auto before = store.contents();
  const RecoveredLog again = store.recover();
  EXPECT_EQ(again.report.end, outcome.end);
  EXPECT_EQ(again.report.cut_bytes, 0);
  EXPECT_EQ(store.contents(), before);
  store.disk_.crash(CrashKind::kPowerCut, seed);
  EXPECT_EQ(store.contents(), before);
  const auto seen = store.survey();
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_EQ(seen->end, outcome.end);
  EXPECT_EQ(store.bodies(), outcome.bodies);
  EXPECT_TRUE(store.zeros(outcome.end, store.log_.end_of_files()));
}

Outcome undisturbed(const Scenario& scenario) {
  RecoveryStore store;
  scenario.prepare(store);
  return recover_whole(store);
}

std::uint64_t calls_of_recovery(const Scenario& scenario) {
  RecoveryStore store;
  scenario.prepare(store);
  const std::uint64_t before = store.disk_.calls_made();
  store.recover();
  return store.disk_.calls_made() - before;
}

void crash_and_recover(const Scenario& scenario, std::uint64_t nth, CrashKind kind,
                       std::uint64_t seed, const Outcome& expected) {
  RecoveryStore store;
  scenario.prepare(store);
  store.disk_.crash_at(nth);
  static_cast<void>(store.try_recover());
  EXPECT_TRUE(store.disk_.crash_point_reached());
  store.disk_.crash(kind, seed);

  const Outcome outcome = recover_whole(store);
  if (scenario.in_memory && kind == CrashKind::kPowerCut) {
    EXPECT_TRUE(is_prefix(outcome.bodies, expected.bodies));
    EXPECT_LE(outcome.end, expected.end);
    EXPECT_EQ(outcome.bodies.front(), "synced");
  } else {
    EXPECT_EQ(outcome.end, expected.end);
    EXPECT_EQ(outcome.bodies, expected.bodies);
  }
  expect_settled(store, outcome, seed + 1);
}

TEST(RecoveryCrashTest, P1ACrashAtAnyCallLeavesAStoreThatRecoversToTheSameEnd) {
  constexpr std::uint64_t kSeeds = 3;
  int crash_points = 0;
  for (const Scenario& scenario : kScenarios) {
    const Outcome expected = undisturbed(scenario);
    ASSERT_FALSE(expected.bodies.empty()) << scenario.name;
    const std::uint64_t calls = calls_of_recovery(scenario);
    for (std::uint64_t nth = 1; nth <= calls; ++nth) {
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        for (const CrashKind kind : {CrashKind::kProcessKill, CrashKind::kPowerCut}) {
          SCOPED_TRACE(std::string(scenario.name) + ", call " + std::to_string(nth) + ", seed " +
                       std::to_string(seed) +
                       (kind == CrashKind::kPowerCut ? ", power cut" : ", process kill"));
          crash_and_recover(scenario, nth, kind, seed, expected);
          ++crash_points;
          if (::testing::Test::HasFailure()) {
            return;
          }
        }
      }
    }
  }
  RecordProperty("crash_points", crash_points);
  EXPECT_GE(crash_points, 300);
}

// A power cut at a sync keeps any subset of the zeros: among many seeds some keep just those that
// would turn the torn record into what it once was.
TEST(RecoveryCrashTest, P1ZerosInAnyOrderMakeNoTornRecordWhole) {
  const Scenario& scenario = kScenarios[0];
  const Outcome expected = undisturbed(scenario);
  std::vector<std::uint64_t> syncs;
  {
    RecoveryStore store;
    scenario.prepare(store);
    const std::uint64_t before = store.disk_.calls_made();
    store.disk_.set_call_hook([&](std::uint64_t ordinal, std::string_view call) {
      if (call == "fdatasync") {
        syncs.push_back(ordinal - before);
      }
    });
    store.recover();
    store.disk_.set_call_hook(nullptr);
  }
  ASSERT_GE(syncs.size(), 4U);
  for (const std::uint64_t nth : syncs) {
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      SCOPED_TRACE("call " + std::to_string(nth) + ", seed " + std::to_string(seed));
      crash_and_recover(scenario, nth, CrashKind::kPowerCut, seed, expected);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

TEST(RecoveryCrashTest, P4AFailureOfAnyCallIsReportedOrHarmless) {
  for (const Scenario& scenario : kScenarios) {
    const Outcome expected = undisturbed(scenario);
    const std::uint64_t calls = calls_of_recovery(scenario);
    for (const int error_number : {EIO, ENOSPC}) {
      for (std::uint64_t nth = 1; nth <= calls; ++nth) {
        SCOPED_TRACE(std::string(scenario.name) + ", call " + std::to_string(nth) + ", errno " +
                     std::to_string(error_number));
        RecoveryStore store;
        scenario.prepare(store);
        store.disk_.fail_call(nth, error_number);
        static_cast<void>(store.try_recover());
        store.disk_.clear_failures();
        store.disk_.crash(CrashKind::kProcessKill);
        const Outcome outcome = recover_whole(store);
        EXPECT_EQ(outcome.end, expected.end);
        EXPECT_EQ(outcome.bodies, expected.bodies);
        expect_settled(store, outcome, nth);
        if (::testing::Test::HasFailure()) {
          return;
        }
      }
    }
  }
}

TEST(RecoveryCrashTest, W7ASyncThatFailsWithinRecoveryIsNoSuccessOfTheNextOne) {
  for (const Scenario& scenario : kScenarios) {
    const Outcome expected = undisturbed(scenario);
    for (std::uint64_t nth = 1;; ++nth) {
      SCOPED_TRACE(std::string(scenario.name) + ", sync " + std::to_string(nth));
      RecoveryStore store;
      scenario.prepare(store);
      store.disk_.fail_sync(nth);
      if (store.try_recover()) {
        ASSERT_GT(nth, 1U);
        break;  // it makes no more syncs than that
      }
      store.disk_.crash(CrashKind::kProcessKill);
      const Outcome outcome = recover_whole(store);
      EXPECT_EQ(outcome.end, expected.end);
      EXPECT_EQ(outcome.bodies, expected.bodies);
      expect_settled(store, outcome, nth);
      if (::testing::Test::HasFailure()) {
        return;
      }
    }
  }
}

TEST(RecoveryCrashTest, P1ACrashOfEveryRecoveryInARowLosesNothing) {
  for (const Scenario& scenario : kScenarios) {
    if (scenario.in_memory) {
      continue;
    }
    const Outcome expected = undisturbed(scenario);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(std::string(scenario.name) + ", seed " + std::to_string(seed));
      RecoveryStore store;
      scenario.prepare(store);
      for (std::uint64_t round = 0; round < 5; ++round) {
        store.disk_.crash_at(3 + (seed * 7 + round * 13) % 60);
        static_cast<void>(store.try_recover());
        store.disk_.crash(round % 2 == 0 ? CrashKind::kPowerCut : CrashKind::kProcessKill,
                          seed * 100 + round);
      }
      const Outcome outcome = recover_whole(store);
      EXPECT_EQ(outcome.end, expected.end);
      EXPECT_EQ(outcome.bodies, expected.bodies);
    }
  }
}

}  // namespace
}  // namespace kerolox::storage
