// What reads of an open log promise.
#include <gmock/gmock.h>

#include "kerolox/storage/record.h"
#include "storage/commit_log_fixture.h"

namespace kerolox::storage {
namespace {

using ::testing::ElementsAre;
using Limit = ReadOptions::Limit;

class CommitLogReadTest : public CommitLogFixture {
 protected:
  // Five files; the first three are not in memory any more. Returns where the records are.
  std::vector<AppendReceipt> fill_five_files() {
    std::vector<AppendReceipt> receipts;
    for (int i = 0; i < 15; ++i) {
      receipts.push_back(append(std::string(5000, static_cast<char>('a' + i))));
    }
    return receipts;
  }
};

TEST_F(CommitLogReadTest, ReturnsRecordsInOrderUpToItsLimits) {
  open();
  append("one");
  const PhysicalOffset second = append("two").first.offset;
  const PhysicalOffset third = append("three").first.offset;
  ReadBatch batch;
  ASSERT_TRUE(log_->read(PhysicalOffset{0}, {.count_max = 2}, batch));
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(text_of(batch[1].body), "two");
  EXPECT_EQ(batch[1].offset, second);
  EXPECT_EQ(batch.next_offset(), third);
  ASSERT_TRUE(log_->read(second, {.bytes_max = 1}, batch));
  EXPECT_EQ(batch.size(), 1U) << "the first record comes whatever its size";
}

TEST_F(CommitLogReadTest, AtTheEndTheBatchIsEmpty) {
  open();
  const PhysicalOffset end = append("one").end;
  const ReadBatch batch = read(end);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.next_offset(), end);
}

TEST_F(CommitLogReadTest, P8OutsideTheLogIsOutOfRangeWithBothBounds) {
  open();
  const PhysicalOffset end = append("one").end;
  ReadBatch batch;
  const auto refused = log_->read(end + 1, {}, batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(number_of(refused.error(), "min_offset"), 0);
  EXPECT_EQ(number_of(refused.error(), "end"), end.value);
  EXPECT_EQ(log_->try_read(end + 1, {}, batch).error().code(), ErrorCode::kOutOfRange);
}

TEST_F(CommitLogReadTest, InsideARecordIsCorruptionAndQuarantinesNothing) {
  open();
  append("one");
  append("two");
  ReadBatch batch;
  EXPECT_EQ(log_->read(PhysicalOffset{5}, {}, batch).error().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(log_->quarantine().empty());
  EXPECT_EQ(log_->counters().damaged_ranges, 0);
}

TEST_F(CommitLogReadTest, P3ConsumersSeeNothingThatTheModeCouldLose) {
  open(FlushPolicy::kSync);
  append("safe");
  append("unsynced", kFromMemory);

  EXPECT_THAT(bodies(Limit::kConfirmed), ElementsAre("safe"));
  EXPECT_THAT(bodies(Limit::kFilled), ElementsAre("safe", "unsynced"));
  ASSERT_TRUE(log_->flush());
  EXPECT_THAT(bodies(Limit::kConfirmed), ElementsAre("safe", "unsynced"));
}

TEST_F(CommitLogReadTest, P3UnderReplicationConsumersWaitForTheReplicas) {
  options_.replica_level = ReplicaLevel::kWritten;
  options_.replica_count = 1;
  open(FlushPolicy::kAsync);
  const PhysicalOffset end = append("copied", kFromMemory).end;
  append("alone", kFromMemory);
  EXPECT_THAT(bodies(Limit::kConfirmed), ElementsAre());
  log_->set_replicated(end, PhysicalOffset{0});
  EXPECT_THAT(bodies(Limit::kConfirmed), ElementsAre("copied"));
}

TEST_F(CommitLogReadTest, TryReadAnswersFromMemoryOrSaysThatItCannot) {
  open();
  const std::vector<AppendReceipt> receipts = fill_five_files();
  ReadBatch batch;
  const auto last = log_->try_read(receipts.back().first.offset, {}, batch);
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_TRUE(*last);
  EXPECT_EQ(batch.size(), 1U);

  const auto first = log_->try_read(PhysicalOffset{0}, {}, batch);
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_FALSE(*first);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(body_at(PhysicalOffset{0}), std::string(5000, 'a')) << "read() may wait";
}

TEST_F(CommitLogReadTest, AReadByCallbackRunsAtOnceFromMemoryAndElseInRunOnce) {
  open();
  const std::vector<AppendReceipt> receipts = fill_five_files();
  std::vector<std::string> found;
  const auto collect = [&found](const Result<ReadBatch>& batch) {
    found.push_back(batch ? text_of(batch->front().body).substr(0, 1)
                          : std::string(name(batch.error().code())));
  };

  log_->read(receipts.back().first.offset, {.count_max = 1}, collect);
  EXPECT_THAT(found, ElementsAre("o"));
  log_->read(PhysicalOffset{0}, {.count_max = 1}, collect);
  log_->read(log_->filled_offset() + 1, {}, collect);
  EXPECT_THAT(found, ElementsAre("o", "out_of_range"));
  run_until_idle();
  EXPECT_THAT(found, ElementsAre("o", "out_of_range", "a"));
}

TEST_F(CommitLogReadTest, AQueuedReadOfALogThatIsClosedEndsWithShutdown) {
  open();
  fill_five_files();
  std::optional<ErrorCode> code;
  log_->read(PhysicalOffset{0}, {},
             [&code](const Result<ReadBatch>& batch) { code = batch.error().code(); });
  EXPECT_FALSE(code.has_value());
  ASSERT_TRUE(log_->close({}));
  EXPECT_EQ(code, ErrorCode::kShutdown);
}

TEST_F(CommitLogReadTest, APinnedBatchOutlivesRollsAndTheLogItself) {
  open();
  append("pinned");
  ReadBatch batch = read(PhysicalOffset{0});
  fill_five_files();
  close();
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(text_of(batch.front().body), "pinned");
  EXPECT_EQ(batch.front().topic, "orders");
}

TEST_F(CommitLogReadTest, RawBytesEndAtTheFilledOffsetAndAtFileEnds) {
  open();
  const std::vector<AppendReceipt> receipts = fill_five_files();
  const PhysicalOffset end = log_->filled_offset();
  EXPECT_EQ(log_->read_raw(PhysicalOffset{0}, 1 << 20)->size(), std::size_t{kFileBytes});
  EXPECT_EQ(log_->read_raw(end - 10, 1 << 20)->size(), 10U);
  EXPECT_TRUE(log_->read_raw(end, 100)->empty());
  EXPECT_EQ(log_->read_raw(end + 1, 100).error().code(), ErrorCode::kOutOfRange);
  const auto record = log_->read_raw(receipts[4].first.offset, receipts[4].first.record_bytes);
  ASSERT_TRUE(record);
  EXPECT_EQ(decode_record(*record, {.expected_offset = receipts[4].first.offset}).kind,
            RecordKind::kRecord);
}

TEST_F(CommitLogReadTest, P4ReadsGoOnAfterAFailedSync) {
  open(FlushPolicy::kSync);
  append("safe");
  const Ticket unsynced = [&] {
    Outcome outcome;
    const Ticket ticket = submit("lost", {}, outcome);
    disk_.fail_sync(1);
    run_until_idle();
    EXPECT_EQ(outcome.error(), ErrorCode::kStoreFailed);
    return ticket;
  }();
  EXPECT_THAT(bodies(Limit::kConfirmed), ElementsAre("safe"));
  EXPECT_EQ(log_->confirm_offset(), unsynced.first.offset);
  EXPECT_EQ(log_->append(message_of("more"), {}, {}).error().code(), ErrorCode::kStoreFailed);
}

}  // namespace
}  // namespace kerolox::storage
