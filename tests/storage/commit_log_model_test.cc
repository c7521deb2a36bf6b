// Random operations against a plain list, with kills, power cuts, failing syncs and full disks in
// between. Fixed seeds; KEROLOX_TEST_SEED and KEROLOX_TEST_ROUNDS make a campaign of it.
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>

#include "kerolox/storage/record.h"
#include "storage/log_model.h"
#include "storage/log_workload.h"
#include "support/campaign.h"

namespace kerolox::storage {
namespace {

class LogHistory {
 public:
  explicit LogHistory(std::uint64_t seed) : random_(seed) {}

  void run(int lives) {
    std::optional<CrashKind> death;
    for (int life = 0; life < lives && !::testing::Test::HasFailure(); ++life) {
      SCOPED_TRACE(::testing::Message() << "life " << life);
      death = live(death);
    }
  }

 private:
  // Returns how it ended; nothing: the process ended by itself.
  std::optional<CrashKind> live(std::optional<CrashKind> before) {
    const FlushPolicy policy = random_.chance(1, 2) ? FlushPolicy::kSync : FlushPolicy::kAsync;
    LogWorkload life(disk_, clock_, model_, policy, random_.next());
    if (!life.open()) {
      ADD_FAILURE() << life.errors().front().text();
      return std::nullopt;
    }
    model_.check_recovered(life.log(), before);
    bring_misfortune();
    life.continue_for(40 + static_cast<int>(random_.below(60)));
    return end(life);
  }
  void bring_misfortune() {
    switch (random_.below(6)) {
      case 0:
        disk_.fail_sync(1 + random_.below(30));
        break;
      case 1:
        disk_.fail_call(1 + random_.below(300), random_.chance(1, 2) ? EIO : ENOSPC);
        break;
      case 2:
        disk_.crash_at(1 + random_.below(300));
        break;
      case 3:
        disk_.set_capacity(static_cast<std::int64_t>(random_.below(100)) << 12);
        break;
      default:
        break;
    }
  }
  std::optional<CrashKind> end(LogWorkload& life) {
    const std::uint64_t how = random_.below(3);
    if (how == 0 && !disk_.crash_point_reached()) {
      life.close();
      disk_.clear_failures();
      disk_.set_capacity(std::int64_t{1} << 40);
      return std::nullopt;
    }
    const CrashKind kind = how == 1 ? CrashKind::kProcessKill : CrashKind::kPowerCut;
    disk_.crash(kind, random_.next());
    life.vanish();
    disk_.set_capacity(std::int64_t{1} << 40);
    return kind;
  }

  SeededRandom random_;
  CrashFileSystem disk_;
  ManualClock clock_;
  LogModel model_;
};

TEST(CommitLogModelTest, P1P2P3TheLogIsTheListWhateverHappensToIt) {
  for (std::uint64_t round = 0; round < campaign_rounds(12); ++round) {
    const std::uint64_t seed = campaign_seed(100 + round);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    LogHistory(seed).run(30);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// All records below `end`, byte for byte, or their places and bodies. (What a blank leaves unused
// may differ.)
std::vector<std::string> records_of(CommitLog& log, PhysicalOffset end, bool whole) {
  std::vector<std::string> found;
  ReadBatch batch;
  for (PhysicalOffset at = log.min_offset(); at < end; at = batch.next_offset()) {
    const Result<void> read =
        log.read(at, {.count_max = 1, .limit = ReadOptions::Limit::kFilled}, batch);
    EXPECT_TRUE(read) << read.error().text();
    EXPECT_TRUE(batch.damaged().empty())
        << batch.damaged().front().offset.value << ": " << batch.damaged().front().fault;
    if (!read || batch.empty() || batch.front().offset >= end) {
      break;
    }
    const std::span<const std::byte> bytes = whole ? batch.front().record : batch.front().body;
    found.push_back(std::to_string(batch.front().offset.value) + " " +
                    std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  return found;
}

// A slave's life: pieces of a master's log of any size, crashes, and truncation to a common point.
TEST(CommitLogModelTest, P1ASlaveIsAPrefixOfItsMasterWhateverHappensToIt) {
  for (std::uint64_t round = 0; round < campaign_rounds(12); ++round) {
    const std::uint64_t seed = campaign_seed(200 + round);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    SeededRandom random(seed);
    // Raw records are held to their bodies' checksums alone: of one that was not synced, a power
    // cut may change the rest unnoticed.
    const bool power_cuts = round % 2 == 1;
    ManualClock clock;
    CrashFileSystem master_disk;
    CommitLogOptions options;
    options.directory = "/store";
    options.file_bytes = 8192;
    options.threads = false;
    auto master = CommitLog::open(options, master_disk, clock);
    ASSERT_TRUE(master);
    std::vector<PhysicalOffset> record_ends;
    for (int i = 0; i < 60; ++i) {
      const std::string body(random.below(2000), static_cast<char>('a' + i % 26));
      const auto receipt = (*master)->append_and_wait(
          {.topic = "orders", .queue = QueueId{i % 3}, .body = std::as_bytes(std::span(body))},
          {.level = Level{}, .timeout = std::nullopt});
      ASSERT_TRUE(receipt);
      record_ends.push_back(receipt->end);
    }
    // A blank without a file behind it is no promise.
    const auto end_of_records = [&](PhysicalOffset below) {
      const auto after = std::upper_bound(record_ends.begin(), record_ends.end(), below);
      return after == record_ends.begin() ? PhysicalOffset{0} : *std::prev(after);
    };
    CrashFileSystem disk;
    std::unique_ptr<CommitLog> slave;
    PhysicalOffset durable{0};
    for (int step = 0; step < 400; ++step) {
      if (slave == nullptr) {
        auto opened = CommitLog::open(options, disk, clock);
        ASSERT_TRUE(opened) << opened.error().text();
        slave = *std::move(opened);
        ASSERT_GE(slave->filled_offset(), durable);
        ASSERT_LE(slave->filled_offset(), (*master)->filled_offset());
        const std::vector<std::string> ours =
            records_of(*slave, slave->filled_offset(), !power_cuts);
        const std::vector<std::string> theirs =
            records_of(**master, slave->filled_offset(), !power_cuts);
        ASSERT_EQ(ours.size(), theirs.size()) << "step " << step;
        for (std::size_t i = 0; i < ours.size(); ++i) {
          const auto differ =
              std::mismatch(ours[i].begin(), ours[i].end(), theirs[i].begin(), theirs[i].end());
          ASSERT_TRUE(ours[i] == theirs[i])
              << "step " << step << ", at " << ours[i].substr(0, ours[i].find(' ')) << ", byte "
              << differ.first - ours[i].begin() << " of " << ours[i].size();
        }
      }
      const PhysicalOffset end = slave->filled_offset();
      switch (random.below(12)) {
        case 0: {
          const CrashKind kind = power_cuts ? CrashKind::kPowerCut : CrashKind::kProcessKill;
          disk.crash(kind, random.next());
          slave.reset();
          break;
        }
        case 1:
          ASSERT_TRUE(slave->close({}));
          slave.reset();
          break;
        case 2:
          ASSERT_TRUE(slave->flush());
          durable = end_of_records(slave->confirm_offset());
          break;
        case 3: {
          ReadBatch batch;
          const PhysicalOffset from{random.chance(1, 2) ? 0 : end.value - end.value % 8192};
          if (from > slave->confirm_offset() ||
              !slave->read(from, {.count_max = 1 + static_cast<int>(random.below(20))}, batch)) {
            break;
          }
          if (random.chance(1, 4)) {
            durable = std::min(durable, batch.next_offset());
            const Result<void> cut = slave->truncate(batch.next_offset());
            ASSERT_TRUE(cut) << cut.error().text();
          }
          break;
        }
        case 4:
          clock.advance(std::chrono::milliseconds(700));
          slave->run_once();
          break;
        default:
          if (end < (*master)->filled_offset()) {
            const auto piece =
                (*master)->read_raw(end, 1 + static_cast<std::int64_t>(random.below(3000)));
            ASSERT_TRUE(piece);
            const auto copied = slave->append_raw(end, *piece);
            ASSERT_TRUE(copied) << copied.error().text();
          }
      }
    }
    EXPECT_THAT(disk.violations(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace kerolox::storage
