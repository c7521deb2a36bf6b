// An open log on a disk that loses power at every call: what was promised is there afterwards.
//
// Fixed seeds; KEROLOX_TEST_SEED and KEROLOX_TEST_ROUNDS make a campaign of it.
#include <gmock/gmock.h>

#include <array>
#include <cerrno>
#include <map>

#include "storage/commit_log_fixture.h"
#include "storage/log_model.h"
#include "storage/log_workload.h"
#include "support/campaign.h"

namespace kerolox::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Phase = LogWorkload::Phase;

struct CrashPlan {
  FlushPolicy policy = FlushPolicy::kSync;
  CrashKind kind = CrashKind::kPowerCut;
  std::uint64_t seed = 0;
  std::uint64_t at = 0;  // the call at which it dies
};

constexpr int kSteps = 22;

CrashKind other(CrashKind kind) {
  return kind == CrashKind::kPowerCut ? CrashKind::kProcessKill : CrashKind::kPowerCut;
}

// One life after the other on one disk, and what it should hold.
class CrashRun {
 public:
  explicit CrashRun(const CrashPlan& plan) : plan_(plan) {}

  // Returns where the first crash and the one in recovery hit.
  std::map<Phase, int> run() {
    std::map<Phase, int> hits;
    live_and_die();
    ++hits[died_in_];
    disk_.crash(plan_.kind, plan_.at);
    if (die_in_recovery(1 + plan_.at * 7 % 70)) {
      ++hits[Phase::kOpen];
    }
    disk_.crash(plan_.kind, plan_.at + 1);
    append_over_the_cut_tail();
    disk_.crash(other(plan_.kind), plan_.at + 2);
    survive();
    EXPECT_THAT(disk_.violations(), IsEmpty());
    return hits;
  }
  static std::uint64_t calls_of(const CrashPlan& plan) {
    CrashRun dry(plan);
    LogWorkload life(dry.disk_, dry.clock_, dry.model_, plan.policy, plan.seed);
    life.run(kSteps);
    life.close();
    EXPECT_THAT(life.errors(), IsEmpty());
    return dry.disk_.calls_made();
  }

 private:
  void live_and_die() {
    disk_.crash_at(plan_.at);
    LogWorkload life(disk_, clock_, model_, plan_.policy, plan_.seed);
    life.run(kSteps);
    life.close();
    died_in_ = life.died_in();
  }
  // True if it died before the log was open.
  bool die_in_recovery(std::uint64_t call) {
    disk_.crash_at(call);
    LogWorkload life(disk_, clock_, model_, plan_.policy, 1);
    return !life.open();
  }
  // W5: what was cut must not follow records of equal length that are appended in its place.
  void append_over_the_cut_tail() {
    LogWorkload life(disk_, clock_, model_, plan_.policy, 2);
    ASSERT_TRUE(life.open()) << life.errors().front().text();
    model_.check_recovered(life.log(), plan_.kind);
    const std::vector<LogModel::Record> lost = model_.lost();
    for (std::size_t i = 0; i < (lost.size() + 1) / 2; ++i) {
      life.append(std::string(lost[i].body.size(), '#'), lost[i].queue, {});
    }
    life.append("one more", 0, {});
    EXPECT_THAT(life.errors(), IsEmpty());
    model_.check_running(life.log());
    disk_.crash_at(1);  // no clean stop
    life.vanish();
  }
  void survive() {
    LogWorkload life(disk_, clock_, model_, plan_.policy, 3);
    ASSERT_TRUE(life.open()) << life.errors().front().text();
    model_.check_recovered(life.log(), other(plan_.kind));
    life.close();
    EXPECT_THAT(life.errors(), IsEmpty());
  }

  CrashPlan plan_;
  CrashFileSystem disk_;
  ManualClock clock_;
  LogModel model_;
  Phase died_in_ = Phase::kNone;
};

std::ostream& operator<<(std::ostream& out, const CrashPlan& plan) {
  return out << (plan.policy == FlushPolicy::kSync ? "SYNC" : "ASYNC") << "_FLUSH, "
             << (plan.kind == CrashKind::kPowerCut ? "power cut" : "process kill") << " at call "
             << plan.at << ", seed " << plan.seed;
}

TEST(CommitLogCrashTest, P1P2P3W5WhateverTheMomentThePromisedPrefixIsThereAndNothingElse) {
  std::map<Phase, int> hits;
  int points = 0;
  for (std::uint64_t round = 0; round < campaign_rounds(2); ++round) {
    for (const FlushPolicy policy : {FlushPolicy::kSync, FlushPolicy::kAsync}) {
      CrashPlan plan{.policy = policy, .seed = campaign_seed(round)};
      const std::uint64_t calls = CrashRun::calls_of(plan);
      for (const CrashKind kind : {CrashKind::kPowerCut, CrashKind::kProcessKill}) {
        plan.kind = kind;
        for (plan.at = 1; plan.at <= calls; ++plan.at) {
          SCOPED_TRACE(::testing::Message() << plan);
          for (const auto& [phase, count] : CrashRun(plan).run()) {
            hits[phase] += count;
            points += count;
          }
          if (::testing::Test::HasFailure()) {
            return;
          }
        }
      }
    }
  }
  EXPECT_GE(points, 2000);
  EXPECT_GE(hits[Phase::kOpen], 300);
  EXPECT_GE(hits[Phase::kRoll], 30);
  EXPECT_GE(hits[Phase::kTruncate], 30);
  EXPECT_GE(hits[Phase::kClose], 60);
  EXPECT_GE(hits[Phase::kAppend], 100);
  EXPECT_GE(hits[Phase::kFlush], 30);
  EXPECT_EQ(hits[Phase::kNone], 0);
}

// Fails one call of a life, then looks at the store as the next process finds it, then cuts the
// power.
class FaultRun {
 public:
  FaultRun(FlushPolicy policy, std::uint64_t seed, std::uint64_t call, int error_number)
      : policy_(policy), seed_(seed), call_(call), error_number_(error_number) {}

  // False: the life ended before that call.
  bool run() {
    disk_.fail_call(call_, error_number_);
    LogWorkload life(disk_, clock_, model_, policy_, seed_);
    life.run(kSteps);
    life.close();
    const bool hit = disk_.calls_made() >= call_;
    disk_.clear_failures();
    for (const Error& error : life.errors()) {
      EXPECT_TRUE(typed(error)) << error.text();
      EXPECT_FALSE(error.message().empty());
    }
    reopen_and_check(std::nullopt);
    disk_.crash(CrashKind::kPowerCut, call_);
    reopen_and_check(CrashKind::kPowerCut);
    EXPECT_THAT(disk_.violations(), IsEmpty());
    return hit;
  }

 private:
  static bool typed(const Error& error) {
    switch (error.code()) {
      case ErrorCode::kIoError:
      case ErrorCode::kNoSpace:
      case ErrorCode::kStoreFailed:
      case ErrorCode::kShutdown:
        return true;
      default:
        return false;
    }
  }
  void reopen_and_check(std::optional<CrashKind> crash) {
    LogWorkload life(disk_, clock_, model_, policy_, 4);
    ASSERT_TRUE(life.open()) << life.errors().front().text();
    model_.check_recovered(life.log(), crash);
    disk_.crash_at(1);
    life.vanish();
    disk_.crash(CrashKind::kProcessKill);
  }

  FlushPolicy policy_;
  std::uint64_t seed_;
  std::uint64_t call_;
  int error_number_;
  CrashFileSystem disk_;
  ManualClock clock_;
  LogModel model_;
};

TEST(CommitLogCrashTest, P2P4W7FaultSweepOverEveryCallLosesNothingAcknowledged) {
  for (const FlushPolicy policy : {FlushPolicy::kSync, FlushPolicy::kAsync}) {
    for (const int error_number : {EIO, ENOSPC}) {
      for (std::uint64_t call = 1;; ++call) {
        SCOPED_TRACE(::testing::Message()
                     << "call " << call << " errno " << error_number << " policy " << int(policy));
        const bool hit = FaultRun(policy, campaign_seed(5), call, error_number).run();
        if (HasFailure()) {
          return;
        }
        if (!hit) {
          EXPECT_GT(call, 100U);
          break;
        }
      }
    }
  }
}

class CommitLogRotTest : public CommitLogFixture {
 protected:
  void make_log() {
    for (int i = 0; i < 5; ++i) {
      receipts_.push_back(append("body " + std::to_string(i)));
    }
  }
  void flip(PhysicalOffset at, int bit) {
    auto file = disk_.open(log_file(at), {});
    std::array<std::byte, 1> byte;
    ASSERT_TRUE((*file)->read_at(at.value % kFileBytes, byte));
    byte[0] ^= std::byte{1} << bit;
    disk_.rot(log_file(at), at.value % kFileBytes, byte);
  }
  std::vector<AppendReceipt> receipts_;
};

TEST_F(CommitLogRotTest, P6W1W10AnyFlippedBitOfAnyRecordIsNeverServedAndItsNeighboursAre) {
  open(FlushPolicy::kSync);
  make_log();
  const std::vector<std::string> all = bodies();
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t victim = 0; victim < 5; ++victim) {
    std::vector<std::string> others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(victim));
    const RecordPosition& record = receipts_[victim].first;
    for (std::int64_t byte = 0; byte < record.record_bytes; ++byte) {
      for (int bit = static_cast<int>(byte + static_cast<std::int64_t>(victim)) % 3; bit < 8;
           bit += 3) {
        SCOPED_TRACE(::testing::Message()
                     << "record " << victim << " byte " << byte << " bit " << bit);
        flip(record.offset + byte, bit);
        ASSERT_EQ(bodies(ReadOptions::Limit::kConfirmed), others);
        flip(record.offset + byte, bit);
        ASSERT_EQ(bodies(ReadOptions::Limit::kConfirmed), all);
      }
    }
  }
  EXPECT_FALSE(log_->failure());
}

TEST_F(CommitLogRotTest, P6W10RotIsQuarantinedReportedAndSurvivesARestart) {
  open(FlushPolicy::kSync);
  make_log();
  flip(receipts_[2].first.offset + 60, 1);
  const ReadBatch batch = read(receipts_[2].first.offset);
  EXPECT_EQ(batch.size(), 2U);
  ASSERT_EQ(batch.damaged().size(), 1U);
  EXPECT_EQ(batch.damaged()[0].offset, receipts_[2].first.offset);
  EXPECT_EQ(batch.damaged()[0].bytes, receipts_[2].first.record_bytes);
  EXPECT_EQ(log_->quarantine().size(), 1U);
  EXPECT_EQ(log_->counters().damaged_ranges, 1);
  EXPECT_THAT(said(), ::testing::HasSubstr("quarantined"));
  bodies();
  EXPECT_EQ(log_->counters().damaged_ranges, 1) << "counted once";

  reopen();

  ASSERT_EQ(log_->quarantine().size(), 1U);
  EXPECT_EQ(log_->quarantine()[0].offset, receipts_[2].first.offset);
  EXPECT_THAT(bodies(), ElementsAre("body 0", "body 1", "body 3", "body 4"));
  EXPECT_EQ(append("next").first.queue_offset, QueueOffset{5});
}

TEST_F(CommitLogRotTest, P6W10RotThatHappensWhileTheStoreIsClosedCutsNothing) {
  open(FlushPolicy::kSync);
  make_log();
  ASSERT_TRUE(log_->flush());
  clock_.advance(std::chrono::seconds(2));
  run_until_idle();
  const PhysicalOffset end = log_->filled_offset();
  crash(CrashKind::kPowerCut, 3);
  const PhysicalOffset victim = receipts_[1].first.offset;
  std::array<std::byte, 3> garbage{std::byte{1}, std::byte{2}, std::byte{3}};
  disk_.rot("/store/commitlog/00000000000000000000", victim.value + 40, garbage);
  open();
  EXPECT_EQ(log_->filled_offset(), end);
  EXPECT_THAT(bodies(), ElementsAre("body 0", "body 2", "body 3", "body 4"));
}

// The page cache shows what the disk has lost, and the next sync succeeds: a restart must not take
// that for an acknowledgement, and what it serves must stay.
TEST_F(CommitLogRotTest, P4W7AFailedSyncThatALaterOneHidesIsWrittenAgainBeforeItIsServed) {
  for (const bool machine_dies : {false, true}) {
    options_.directory = machine_dies ? "/dies" : "/lives";
    open(FlushPolicy::kSync);
    append("safe");
    Outcome lost;
    submit("written, not synced", {}, lost);
    disk_.fail_sync(1);
    run_until_idle();
    ASSERT_EQ(lost.error(), ErrorCode::kStoreFailed);
    EXPECT_EQ(log_->close({}).error().code(), ErrorCode::kStoreFailed);
    if (machine_dies) {
      crash(CrashKind::kPowerCut, 1);
      open();
      EXPECT_THAT(bodies(), ElementsAre("safe"));
    } else {
      open();
      const std::vector<std::string> served = bodies(ReadOptions::Limit::kConfirmed);
      EXPECT_THAT(served, ElementsAre("safe", "written, not synced"));
      EXPECT_GT(log_->recovery_report().rewritten_bytes, 0);
      crash(CrashKind::kPowerCut, 1);
      open();
      EXPECT_EQ(bodies(), served);
    }
    close();
  }
}

TEST_F(CommitLogRotTest, P2W8ARolledFilesNameIsOnDiskBeforeItsFirstAcknowledgement) {
  for (std::uint64_t seed = 0; seed < campaign_rounds(40); ++seed) {
    SCOPED_TRACE(seed);
    CrashFileSystem disk;
    auto log = CommitLog::open(options_, disk, clock_);
    ASSERT_TRUE(log);
    const std::string body(9000, 'x');
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE((*log)->append_and_wait(message_of(body)));
    }
    disk.crash(CrashKind::kPowerCut, campaign_seed(seed));
    log = Error(ErrorCode::kShutdown, "dead");
    auto again = CommitLog::open(options_, disk, clock_);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ((*again)->next_queue_offset("orders", QueueId{0}), QueueOffset{4});
  }
}

TEST_F(CommitLogRotTest, P4AFailedSyncOfADirectoryAcknowledgesNothing) {
  open(FlushPolicy::kSync);
  const std::string body(9000, 'x');
  append(body);
  Outcome outcome;
  submit(body, {}, outcome);
  ASSERT_FALSE(outcome.done());
  disk_.fail_call(1, EIO);  // the first call of the sync: that of the names
  run_until_idle();
  ASSERT_EQ(outcome.calls, 1);
  EXPECT_EQ(outcome.error(), ErrorCode::kStoreFailed);
  EXPECT_TRUE(log_->failure());
}

}  // namespace
}  // namespace kerolox::storage
