// What an append promises: places, levels, deadlines, refusals.
#include <gmock/gmock.h>

#include <array>
#include <map>

#include "storage/commit_log_fixture.h"

namespace kerolox::storage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

class CommitLogAppendTest : public CommitLogFixture {};

constexpr Level kMemoryLevel{};
constexpr Level kDiskLevel{.local = LocalLevel::kDisk};

TEST_F(CommitLogAppendTest, TheReceiptSaysWhereTheRecordIs) {
  open();

  const AppendReceipt first = append("one");
  const AppendReceipt second = append("two");

  EXPECT_EQ(first.first.offset, PhysicalOffset{0});
  EXPECT_EQ(first.first.queue_offset, QueueOffset{0});
  EXPECT_EQ(first.message_count, 1);
  EXPECT_EQ(first.end, first.first.offset + first.first.record_bytes);
  EXPECT_EQ(first.store_timestamp_ms, clock_.wall_ms());
  EXPECT_FALSE(first.timed_out);
  EXPECT_EQ(second.first.offset, first.end);
  EXPECT_EQ(second.first.queue_offset, QueueOffset{1});
  EXPECT_EQ(log_->filled_offset(), second.end);
  EXPECT_EQ(body_at(second.first.offset), "two");
}

TEST_F(CommitLogAppendTest, SyncFlushAcknowledgesFromDisk) {
  open(FlushPolicy::kSync);
  Outcome outcome;
  const Ticket ticket = submit("paid", {}, outcome);
  EXPECT_FALSE(ticket.completed);
  EXPECT_FALSE(outcome.done());
  EXPECT_LT(log_->flushed_offset(), ticket.end);

  run_until_idle();

  ASSERT_EQ(outcome.calls, 1);
  EXPECT_EQ(outcome.receipt().level, kDiskLevel);
  EXPECT_GE(log_->flushed_offset(), ticket.end);
}

TEST_F(CommitLogAppendTest, AsyncFlushAcknowledgesFromMemoryAtOnce) {
  open(FlushPolicy::kAsync);
  Outcome outcome;
  const Ticket ticket = submit("paid", {}, outcome);

  EXPECT_TRUE(ticket.completed);
  ASSERT_EQ(outcome.calls, 1);
  EXPECT_EQ(outcome.receipt().level, kMemoryLevel);
  EXPECT_LT(log_->flushed_offset(), ticket.end);
}

TEST_F(CommitLogAppendTest, AMessageWithWaitFalseIsAcknowledgedFromMemory) {
  open(FlushPolicy::kSync);
  const Property wait{property::kWait, "false"};
  Message message = message_of("hurried");
  message.properties = std::span(&wait, 1);
  Outcome outcome;

  const auto ticket = log_->append(message, {}, outcome.completion());

  ASSERT_TRUE(ticket);
  EXPECT_TRUE(ticket->completed);
  EXPECT_EQ(outcome.receipt().level, kMemoryLevel);
}

TEST_F(CommitLogAppendTest, ABatchWaitsIfOneOfItsMessagesDoes) {
  open(FlushPolicy::kSync);
  const Property wait{property::kWait, "false"};
  std::array<Message, 2> batch{message_of("hurried"), message_of("patient")};
  batch[0].properties = std::span(&wait, 1);
  Outcome outcome;

  ASSERT_TRUE(log_->append_batch(batch, {}, outcome.completion(), {}));
  EXPECT_FALSE(outcome.done());
  run_until_idle();
  EXPECT_EQ(outcome.receipt().level, kDiskLevel);
}

TEST_F(CommitLogAppendTest, AnExplicitLevelBeatsThePolicy) {
  open(FlushPolicy::kAsync);
  Outcome disk;
  submit("paid", kFromDisk, disk);
  EXPECT_FALSE(disk.done());
  run_until_idle();
  EXPECT_EQ(disk.receipt().level, kDiskLevel);
  reopen();

  options_.flush_policy = FlushPolicy::kSync;
  reopen();
  Outcome memory;
  EXPECT_TRUE(submit("seen", kFromMemory, memory).completed);
}

TEST_F(CommitLogAppendTest, W12AsyncFlushSyncsWithinItsInterval) {
  options_.flush_interval = 500ms;
  open(FlushPolicy::kAsync);
  const AppendReceipt receipt = append("late");
  clock_.advance(499ms);
  run_until_idle();
  EXPECT_LT(log_->flushed_offset(), receipt.end);

  clock_.advance(1ms);
  run_until_idle();
  EXPECT_EQ(log_->flushed_offset(), receipt.end);
}

TEST_F(CommitLogAppendTest, W12AsyncFlushSyncsAfterItsBytes) {
  options_.flush_bytes = 1000;
  open(FlushPolicy::kAsync);
  const AppendReceipt small = append(std::string(500, 'a'));
  run_until_idle();
  EXPECT_LT(log_->flushed_offset(), small.end);

  const AppendReceipt large = append(std::string(500, 'b'));
  run_until_idle();
  EXPECT_EQ(log_->flushed_offset(), large.end);
}

TEST_F(CommitLogAppendTest, W12OneSyncServesEverybodyWhoWaitsInOrder) {
  open(FlushPolicy::kSync);
  run_until_idle();
  std::vector<std::int64_t> order;
  const LogCounters before = log_->counters();
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(log_->append(message_of("m"), {},
                             Completion([&order](const Result<AppendReceipt>& receipt) {
                               order.push_back(receipt->first.queue_offset.value);
                             })));
  }
  EXPECT_TRUE(order.empty());

  run_until_idle();

  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_EQ(log_->counters().sync_groups - before.sync_groups, 1);
  EXPECT_EQ(log_->counters().sync_group_messages - before.sync_group_messages, 10);
}

TEST_F(CommitLogAppendTest, ABatchLiesSideBySideWithConsecutiveQueueOffsets) {
  open();
  append("before");
  const std::array<Message, 3> batch{message_of("a"), message_of("b", "orders", 1),
                                     message_of("c")};
  std::array<RecordPosition, 3> positions;

  const auto receipt = log_->append_batch_and_wait(batch, {}, positions);

  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_EQ(receipt->message_count, 3);
  EXPECT_EQ(receipt->first.offset, positions[0].offset);
  EXPECT_EQ(positions[1].offset, positions[0].offset + positions[0].record_bytes);
  EXPECT_EQ(positions[2].offset, positions[1].offset + positions[1].record_bytes);
  EXPECT_EQ(receipt->end, positions[2].offset + positions[2].record_bytes);
  EXPECT_EQ(positions[0].queue_offset, QueueOffset{1});
  EXPECT_EQ(positions[1].queue_offset, QueueOffset{0});
  EXPECT_EQ(positions[2].queue_offset, QueueOffset{2});
  EXPECT_THAT(bodies(), ElementsAre("before", "a", "b", "c"));
}

TEST_F(CommitLogAppendTest, ABatchThatDoesNotFitTheFileRollsAsAWhole) {
  open();
  append(std::string(12000, 'x'));
  const std::string body(2500, 'y');
  const std::array<Message, 2> batch{message_of(body), message_of(body)};
  std::array<RecordPosition, 2> positions;

  ASSERT_TRUE(log_->append_batch_and_wait(batch, {}, positions));

  EXPECT_EQ(positions[0].offset, PhysicalOffset{kFileBytes});
  EXPECT_EQ(log_->counters().rolls, 1);
}

TEST_F(CommitLogAppendTest, ABatchWithAFaultyMessageAppendsNothing) {
  open();
  const std::array<Message, 2> batch{message_of("good"), message_of("bad", "")};
  Outcome outcome;

  const auto ticket = log_->append_batch(batch, {}, outcome.completion(), {});

  ASSERT_FALSE(ticket);
  EXPECT_EQ(ticket.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(ticket.error().text(), ::testing::HasSubstr("message 1 of the batch"));
  run_until_idle();
  EXPECT_FALSE(outcome.done());
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{0});
  EXPECT_EQ(log_->next_queue_offset("orders", QueueId{0}), QueueOffset{0});
}

TEST_F(CommitLogAppendTest, ABatchNeedsMessagesAndAPlaceForEachPosition) {
  open();
  const std::array<Message, 2> batch{message_of("a"), message_of("b")};
  std::array<RecordPosition, 1> positions;
  EXPECT_EQ(log_->append_batch({}, {}, {}, {}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(log_->append_batch(batch, {}, {}, positions).error().code(),
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{0});
}

TEST_F(CommitLogAppendTest, P8ARecordLargerThanAFileIsRefusedWithBothSizes) {
  open();
  append("before");
  const PhysicalOffset end = log_->filled_offset();
  const auto refused = log_->append(message_of(std::string(kFileBytes, 'x')), {}, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(number_of(refused.error(), "file_bytes"), kFileBytes);
  EXPECT_GT(number_of(refused.error(), "bytes"), kFileBytes);
  EXPECT_EQ(log_->filled_offset(), end);
  EXPECT_EQ(log_->counters().rolls, 0);
}

TEST_F(CommitLogAppendTest, TheLargestRecordThatFitsAFileFillsItButForItsBlank) {
  open();
  const std::int64_t overhead = append("").first.record_bytes;
  const std::string body(static_cast<std::size_t>(kFileBytes - overhead - 8), 'x');

  const AppendReceipt largest = append(body);

  EXPECT_EQ(largest.first.offset, PhysicalOffset{kFileBytes});
  EXPECT_EQ(largest.first.record_bytes, kFileBytes - 8);
  const std::string more = body + "x";
  EXPECT_EQ(log_->append(message_of(more), {}, {}).error().code(), ErrorCode::kInvalidArgument);
  reopen();
  EXPECT_EQ(body_at(largest.first.offset), body);
  EXPECT_EQ(append("next").first.offset, PhysicalOffset{2 * kFileBytes});
}

TEST_F(CommitLogAppendTest, ABodyOverTheOptionsLimitIsRefused) {
  options_.body_bytes_max = 10;
  open();
  EXPECT_EQ(log_->append(message_of("12345678901"), {}, {}).error().code(),
            ErrorCode::kInvalidArgument);
  append("1234567890");
}

TEST_F(CommitLogAppendTest, LongTopicsNeedTheirOption) {
  const std::string topic(128, 't');
  open();
  EXPECT_EQ(log_->append(message_of("body", topic), {}, {}).error().code(),
            ErrorCode::kInvalidArgument);
  options_.allow_long_topics = true;
  reopen();
  const AppendReceipt receipt = append(message_of("body", topic));
  EXPECT_EQ(read(receipt.first.offset).front().topic, topic);
  EXPECT_EQ(read(receipt.first.offset).front().version, 2);
}

TEST_F(CommitLogAppendTest, RecordCrcFalseLeavesThePropertyOut) {
  open();
  const AppendReceipt with = append("body");
  options_.record_crc = false;
  reopen();
  const AppendReceipt without = append("body");
  EXPECT_TRUE(read(with.first.offset).front().property(property::kRecordCrc).has_value());
  EXPECT_FALSE(read(without.first.offset).front().property(property::kRecordCrc).has_value());
  EXPECT_EQ(with.first.record_bytes - without.first.record_bytes, 20);
}

TEST_F(CommitLogAppendTest, EveryQueueCountsForItselfAndSurvivesARestart) {
  open();
  std::map<std::pair<std::string, int>, std::int64_t> expected;
  for (int i = 0; i < 40; ++i) {
    const std::string topic = i % 3 == 0 ? "orders" : "bills";
    const AppendReceipt receipt = append(message_of("m", topic, i % 4));
    EXPECT_EQ(receipt.first.queue_offset.value, (expected[{topic, i % 4}]++));
    if (i % 10 == 9) {
      reopen();
    }
  }
  for (const auto& [queue, next] : expected) {
    EXPECT_EQ(log_->next_queue_offset(queue.first, QueueId{queue.second}).value, next);
  }
  EXPECT_EQ(log_->next_queue_offset("unknown", QueueId{0}), QueueOffset{0});
}

TEST_F(CommitLogAppendTest, PreparedAndRollbackRecordsTakeNoPlaceInTheirQueue) {
  open();
  append("plain");
  Message message = message_of("half");
  for (const std::int32_t kind : {sys_flag::kTransactionPrepared, sys_flag::kTransactionRollback}) {
    message.sys_flag = kind;
    EXPECT_EQ(append(message).first.queue_offset, QueueOffset{0});
  }
  message.sys_flag = sys_flag::kTransactionCommit;
  EXPECT_EQ(append(message).first.queue_offset, QueueOffset{1});
}

TEST_F(CommitLogAppendTest, P10StoreTimesNeverGoBackWhateverTheWallClockDoes) {
  open(FlushPolicy::kSync);
  const std::int64_t before = append("one").store_timestamp_ms;
  clock_.set_wall_ms(1000);
  EXPECT_EQ(append("two").store_timestamp_ms, before);
  reopen();
  EXPECT_EQ(append("three").store_timestamp_ms, before);
}

TEST_F(CommitLogAppendTest, AtTheDeadlineTheReceiptTellsTheLevelReallyReached) {
  options_.replica_level = ReplicaLevel::kSynced;
  options_.replica_count = 1;
  options_.replica_timeout = 3000ms;
  open(FlushPolicy::kSync);
  Outcome outcome;
  const Ticket ticket = submit("paid", {}, outcome);
  run_until_idle();
  log_->set_replicated(ticket.end, PhysicalOffset{0});
  clock_.advance(2999ms);
  run_until_idle();
  EXPECT_FALSE(outcome.done());

  clock_.advance(1ms);
  run_until_idle();

  ASSERT_EQ(outcome.calls, 1);
  EXPECT_TRUE(outcome.receipt().timed_out);
  EXPECT_EQ(outcome.receipt().level, (Level{LocalLevel::kDisk, ReplicaLevel::kWritten, 1}));
  log_->set_replicated(ticket.end, ticket.end);
  run_until_idle();
  EXPECT_EQ(outcome.calls, 1);
}

TEST_F(CommitLogAppendTest, AnOverdueSyncCompletesWithMemoryAndTheMessageStays) {
  options_.sync_timeout = 5000ms;
  open(FlushPolicy::kSync);
  Outcome outcome;
  const Ticket ticket = submit("late", {}, outcome);
  clock_.advance(5000ms);

  log_->run_once();

  ASSERT_EQ(outcome.calls, 1);
  EXPECT_TRUE(outcome.receipt().timed_out);
  EXPECT_EQ(outcome.receipt().level, kMemoryLevel);
  reopen();
  EXPECT_EQ(body_at(ticket.first.offset), "late");
}

TEST_F(CommitLogAppendTest, AnAppendsOwnTimeoutBeatsTheLogs) {
  open(FlushPolicy::kSync);
  Outcome patient;
  Outcome hurried;
  submit("patient", {.level = kDiskLevel, .timeout = 60s}, patient);
  submit("hurried", {.level = kDiskLevel, .timeout = 1ms}, hurried);
  clock_.advance(1ms);
  log_->run_once();
  EXPECT_TRUE(hurried.receipt().timed_out);
  run_until_idle();
  EXPECT_FALSE(patient.receipt().timed_out);
  EXPECT_EQ(patient.receipt().level, kDiskLevel);
}

// A clock that moves whenever somebody looks, as time does for who waits.
class ImpatientClock final : public Clock {
 public:
  std::int64_t wall_ms() const override { return 1'700'000'000'000; }
  MonotonicTime monotonic() const override { return MonotonicTime(1'000'000 * ++milliseconds_); }

 private:
  mutable std::atomic<std::int64_t> milliseconds_{0};
};

TEST_F(CommitLogAppendTest, AppendAndWaitReturnsAtItsDeadlineWithoutReplicas) {
  ImpatientClock clock;
  options_.replica_level = ReplicaLevel::kWritten;
  options_.replica_count = 2;
  options_.replica_timeout = 50ms;
  auto log = CommitLog::open(options_, disk_, clock);
  ASSERT_TRUE(log) << log.error().text();

  const auto receipt = (*log)->append_and_wait(message_of("alone"));

  ASSERT_TRUE(receipt) << receipt.error().text();
  EXPECT_TRUE(receipt->timed_out);
  EXPECT_EQ(receipt->level, kDiskLevel);
}

// Every pair of levels, and every order in which its parts can be reached.
TEST_F(CommitLogAppendTest, P2EveryPairOfLevelsCompletesExactlyWhenItIsReached) {
  options_.replica_level = ReplicaLevel::kSynced;
  options_.replica_count = 2;
  enum Event { kFlush, kWrite, kSync };
  const std::vector<std::vector<Event>> orders{
      {kFlush, kWrite, kSync}, {kWrite, kFlush, kSync}, {kWrite, kSync, kFlush}};
  for (const std::vector<Event>& order : orders) {
    for (const LocalLevel local : {LocalLevel::kMemory, LocalLevel::kDisk}) {
      for (const ReplicaLevel replicas :
           {ReplicaLevel::kNone, ReplicaLevel::kWritten, ReplicaLevel::kSynced}) {
        SCOPED_TRACE(::testing::Message()
                     << "order " << order[0] << order[1] << order[2] << " local " << int(local)
                     << " replicas " << int(replicas));
        open(FlushPolicy::kAsync);
        const Level wanted{local, replicas, replicas == ReplicaLevel::kNone ? 0 : 1};
        Level reached;
        Outcome outcome;
        const Ticket ticket = submit("m", {.level = wanted, .timeout = {}}, outcome);
        EXPECT_EQ(outcome.done(), satisfies(reached, wanted));
        for (const Event event : order) {
          if (event == kFlush) {
            reached.local = LocalLevel::kDisk;
            ASSERT_TRUE(log_->flush());
          } else {
            reached.replicas = event == kWrite ? ReplicaLevel::kWritten : ReplicaLevel::kSynced;
            reached.replica_count = 2;
            log_->set_replicated(ticket.end, event == kWrite ? PhysicalOffset{0} : ticket.end);
          }
          EXPECT_EQ(outcome.done(), satisfies(reached, wanted));
        }
        ASSERT_EQ(outcome.calls, 1);
        EXPECT_TRUE(satisfies(outcome.receipt().level, wanted));
        EXPECT_FALSE(outcome.receipt().timed_out);
        close();
      }
    }
  }
}

TEST_F(CommitLogAppendTest, ALevelWithReplicasThatTheLogHasNotIsRefused) {
  options_.replica_level = ReplicaLevel::kWritten;
  options_.replica_count = 2;
  open();
  for (const Level& wrong : {Level{LocalLevel::kDisk, ReplicaLevel::kWritten, 3},
                             Level{LocalLevel::kDisk, ReplicaLevel::kNone, 1},
                             Level{LocalLevel::kDisk, ReplicaLevel::kWritten, 0},
                             Level{LocalLevel::kDisk, ReplicaLevel::kWritten, -1}}) {
    EXPECT_EQ(log_->append(message_of("m"), {.level = wrong, .timeout = {}}, {}).error().code(),
              ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{0});
}

TEST_F(CommitLogAppendTest, ReplicatedOffsetsNeverGoBack) {
  open();
  const PhysicalOffset end = append("m").end;
  log_->set_replicated(end, end);
  log_->set_replicated(end - 10, end - 20);
  EXPECT_EQ(log_->replicated_written_offset(), end);
  EXPECT_EQ(log_->replicated_synced_offset(), end);
}

TEST_F(CommitLogAppendTest, P3TheConfirmOffsetIsTheLeastThatTheModeDemandsAndNeverGoesBack) {
  for (const FlushPolicy policy : {FlushPolicy::kAsync, FlushPolicy::kSync}) {
    for (const ReplicaLevel level :
         {ReplicaLevel::kNone, ReplicaLevel::kWritten, ReplicaLevel::kSynced}) {
      SCOPED_TRACE(::testing::Message() << int(policy) << int(level));
      options_.replica_level = level;
      options_.replica_count = level == ReplicaLevel::kNone ? 0 : 1;
      open(policy);
      const PhysicalOffset start = log_->filled_offset();
      PhysicalOffset last = log_->confirm_offset();
      const auto check = [&] {
        PhysicalOffset expected = log_->filled_offset();
        if (policy == FlushPolicy::kSync) {
          expected = std::min(expected, log_->flushed_offset());
        }
        if (level == ReplicaLevel::kWritten) {
          expected = std::min(expected, log_->replicated_written_offset());
        }
        if (level == ReplicaLevel::kSynced) {
          expected = std::min(expected, log_->replicated_synced_offset());
        }
        EXPECT_EQ(log_->confirm_offset(), expected);
        EXPECT_GE(log_->confirm_offset(), last);
        last = log_->confirm_offset();
      };
      const PhysicalOffset one = append("one", kFromMemory).end;
      check();
      log_->set_replicated(one, start);
      check();
      ASSERT_TRUE(log_->flush());
      check();
      const PhysicalOffset two = append("two", kFromMemory).end;
      log_->set_replicated(two, one);
      check();
      log_->set_replicated(one, start);
      check();
      ASSERT_TRUE(log_->flush());
      log_->set_replicated(two, two);
      check();
      EXPECT_EQ(last, two);
      close();
    }
  }
}

TEST_F(CommitLogAppendTest, MoreThanTicketsMaxWaitingAppendsAreBusy) {
  options_.tickets_max = 3;
  open(FlushPolicy::kSync);
  Outcome outcomes[4];
  for (int i = 0; i < 3; ++i) {
    submit("m", {}, outcomes[i]);
  }
  const PhysicalOffset end = log_->filled_offset();

  const auto busy = log_->append(message_of("one too many"), {}, outcomes[3].completion());

  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code(), ErrorCode::kBusy);
  EXPECT_GT(busy.error().retry_after().count(), 0);
  EXPECT_EQ(log_->filled_offset(), end);
  append("who does not wait is not counted", kFromMemory);
  run_until_idle();
  EXPECT_EQ(outcomes[3].calls, 0);
  submit("m", {}, outcomes[3]);
  run_until_idle();
  EXPECT_EQ(outcomes[3].calls, 1);
}

TEST_F(CommitLogAppendTest, ARefusedAppendGivesItsTicketBack) {
  options_.tickets_max = 1;
  open(FlushPolicy::kSync);
  const std::string large(kFileBytes, 'x');
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(log_->append(message_of(large), {}, {}).error().code(), ErrorCode::kInvalidArgument);
  }
  append("still served");
}

TEST_F(CommitLogAppendTest, CountersCountWhatHappened) {
  open(FlushPolicy::kSync);
  const std::string body(5000, 'x');
  std::int64_t bytes = 0;
  for (int i = 0; i < 7; ++i) {
    bytes += append(body).first.record_bytes;
  }
  const LogCounters counters = log_->counters();
  EXPECT_EQ(counters.messages_appended, 7);
  EXPECT_EQ(counters.bytes_appended, bytes);
  EXPECT_EQ(counters.rolls, 2);
  EXPECT_EQ(counters.sync_groups, 7);
  EXPECT_EQ(counters.sync_group_messages, 7);
  EXPECT_GE(counters.syncs, 7);
  EXPECT_GT(counters.blocks_prepared_bytes, bytes);
  EXPECT_GT(counters.checkpoints, 0);
  EXPECT_EQ(counters.damaged_ranges, 0);
}

TEST_F(CommitLogAppendTest, ACheckpointComesWithinASecondOfAnAppend) {
  open(FlushPolicy::kAsync);
  append("m");
  run_until_idle();
  const std::int64_t before = log_->counters().checkpoints;
  clock_.advance(1s);
  run_until_idle();
  EXPECT_EQ(log_->counters().checkpoints, before + 1);
  clock_.advance(1s);
  run_until_idle();
  EXPECT_EQ(log_->counters().checkpoints, before + 1) << "nothing new, nothing written";
}

}  // namespace
}  // namespace kerolox::storage
