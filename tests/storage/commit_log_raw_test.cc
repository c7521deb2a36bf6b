// The slave's way: raw bytes at their own offset, and truncation while open.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "kerolox/storage/record.h"
#include "storage/commit_log_fixture.h"

namespace kerolox::storage {
namespace {

using ::testing::ElementsAre;
using Limit = ReadOptions::Limit;

class CommitLogRawTest : public CommitLogFixture {
 protected:
  // A master's log: records of several queues, and rolls.
  void make_master() {
    CommitLogOptions options = options_;
    options.directory = "/master";
    auto opened = CommitLog::open(options, disk_, clock_);
    ASSERT_TRUE(opened) << opened.error().text();
    master_ = *std::move(opened);
    for (int i = 0; i < 12; ++i) {
      const std::string body(static_cast<std::size_t>(500 + 700 * (i % 5)), 'm');
      ASSERT_TRUE(master_->append_and_wait(message_of(body, "orders", i % 3), kFromMemory));
    }
  }
  std::vector<std::byte> master_bytes(PhysicalOffset from, std::int64_t bytes) {
    auto read = master_->read_raw(from, bytes);
    EXPECT_TRUE(read) << read.error().text();
    return *std::move(read);
  }
  // Whole files at most, from where the slave is.
  Result<void> copy_step(std::int64_t bytes) {
    const PhysicalOffset at = log_->filled_offset();
    return log_->append_raw(at, master_bytes(at, bytes));
  }
  void copy_all(std::int64_t step) {
    while (log_->filled_offset() < master_->filled_offset()) {
      const Result<void> copied = copy_step(step);
      ASSERT_TRUE(copied) << copied.error().text();
      // Nobody reads a part of a record, at any moment.
      ASSERT_LE(log_->confirm_offset(), log_->filled_offset());
    }
  }
  void expect_same_as_master() {
    std::vector<std::string> theirs;
    ReadBatch batch;
    for (PhysicalOffset at{0}; at < master_->filled_offset(); at = batch.next_offset()) {
      ASSERT_TRUE(master_->read(at, {.limit = Limit::kFilled}, batch));
      for (const MessageView& message : batch) {
        theirs.push_back(text_of(message.body));
      }
    }
    EXPECT_EQ(bodies(), theirs);
    for (int queue = 0; queue < 3; ++queue) {
      EXPECT_EQ(log_->next_queue_offset("orders", QueueId{queue}),
                master_->next_queue_offset("orders", QueueId{queue}));
    }
  }

  std::unique_ptr<CommitLog> master_;
};

class CommitLogTruncateTest : public CommitLogFixture {};

TEST_F(CommitLogRawTest, ACopyInPiecesOfAnySizeIsTheSameLog) {
  make_master();
  for (const std::int64_t step : {1, 7, 100, 4096, 1 << 20}) {
    SCOPED_TRACE(step);
    options_.directory = "/slave" + std::to_string(step);
    open(FlushPolicy::kAsync);
    copy_all(step);
    expect_same_as_master();
    reopen();
    expect_same_as_master();
    EXPECT_EQ(log_->recovery_report().cut_bytes, 0);
    close();
  }
}

TEST_F(CommitLogRawTest, APartOfARecordIsFilledButNeverReadable) {
  make_master();
  open(FlushPolicy::kAsync);
  const PhysicalOffset second = [&] {
    ReadBatch batch;
    EXPECT_TRUE(master_->read(PhysicalOffset{0}, {.count_max = 2, .limit = Limit::kFilled}, batch));
    return batch[1].offset;
  }();
  ASSERT_TRUE(log_->append_raw(PhysicalOffset{0}, master_bytes({}, second.value + 50)));

  EXPECT_EQ(log_->filled_offset(), second + 50);
  EXPECT_EQ(log_->confirm_offset(), second);
  EXPECT_EQ(bodies().size(), 1U);
  EXPECT_EQ(log_->append(message_of("own"), {}, {}).error().code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(copy_step(1 << 20));
  EXPECT_GT(log_->confirm_offset(), second);
}

// Syncs and replicas count bytes: what they confirm may end inside a record.
TEST_F(CommitLogRawTest, P3P6AConfirmOffsetInsideARecordHidesItAndQuarantinesNothing) {
  make_master();
  ReadBatch batch;
  ASSERT_TRUE(master_->read(PhysicalOffset{0}, {.count_max = 2, .limit = Limit::kFilled}, batch));
  const PhysicalOffset second = batch[1].offset;
  open(FlushPolicy::kSync);
  ASSERT_TRUE(copy_step(second.value + 50));
  ASSERT_TRUE(log_->flush());
  ASSERT_TRUE(copy_step(1 << 20));

  EXPECT_EQ(bodies(Limit::kConfirmed).size(), 1U);
  const ReadBatch hidden = read(second, Limit::kConfirmed);
  EXPECT_TRUE(hidden.empty());
  EXPECT_TRUE(hidden.damaged().empty());
  EXPECT_EQ(hidden.next_offset(), second);
  EXPECT_TRUE(log_->quarantine().empty());
  ASSERT_TRUE(log_->flush());
  EXPECT_GT(bodies(Limit::kConfirmed).size(), 1U);
}

TEST_F(CommitLogRawTest, APartOfARecordIsCutByARestartAndComesAgain) {
  make_master();
  open(FlushPolicy::kSync);
  ASSERT_TRUE(log_->append_raw(PhysicalOffset{0}, master_bytes({}, 300)));
  reopen();
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{0});
  copy_all(1000);
  expect_same_as_master();
}

// The filler behind a blank has no meaning, but it must come before the next file begins.
TEST_F(CommitLogRawTest, APartOfABlankCanBeCheckpointedClosedAndCompleted) {
  make_master();
  open(FlushPolicy::kSync);
  const auto file = master_bytes({}, kFileBytes);
  std::int64_t records_end = 0;
  for (std::int64_t at = 0; at < kFileBytes;) {
    const auto head = decode_head(std::span(file).subspan(static_cast<std::size_t>(at)));
    if (head.kind != RecordKind::kRecord) {
      break;
    }
    at += head.bytes;
    records_end = at;
  }
  ASSERT_LT(records_end + 20, kFileBytes);
  const auto part = std::span(file).first(static_cast<std::size_t>(records_end + 20));

  ASSERT_TRUE(log_->append_raw(PhysicalOffset{0}, part));
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{records_end + 20});
  EXPECT_EQ(log_->confirm_offset() <= log_->filled_offset(), true);
  clock_.advance(std::chrono::seconds(2));
  run_until_idle();
  EXPECT_FALSE(bodies().empty());
  ASSERT_TRUE(log_->truncate(PhysicalOffset{records_end}));
  ASSERT_TRUE(copy_step(20));
  copy_all(100);
  expect_same_as_master();
  reopen();
  expect_same_as_master();
}

TEST_F(CommitLogRawTest, ALogCanBeginAtAnyFile) {
  make_master();
  open(FlushPolicy::kSync);
  const PhysicalOffset begin{kFileBytes};
  const auto bytes = master_bytes(begin, 1 << 20);

  ASSERT_TRUE(log_->append_raw(begin, bytes));

  EXPECT_EQ(log_->min_offset(), begin);
  EXPECT_EQ(log_->filled_offset(), begin + static_cast<std::int64_t>(bytes.size()));
  reopen();
  EXPECT_EQ(log_->min_offset(), begin);
  EXPECT_FALSE(bodies().empty());
  append("own");
}

TEST_F(CommitLogRawTest, OnlyAFilesBeginCanBeTheFirstByte) {
  make_master();
  open();
  const auto refused = log_->append_raw(PhysicalOffset{100}, master_bytes({}, 100));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(number_of(refused.error(), "expected"), 0);
}

TEST_F(CommitLogRawTest, ARefusedFirstPieceLeavesAnEmptyLogEmpty) {
  open();
  const std::vector<std::byte> garbage(200, std::byte{0x5a});
  EXPECT_EQ(log_->append_raw(PhysicalOffset{3 * kFileBytes}, garbage).error().code(),
            ErrorCode::kCorruption);
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{0});
  EXPECT_EQ(log_->append_raw(PhysicalOffset{3 * kFileBytes}, {}).error().code(),
            ErrorCode::kOutOfRange);
  EXPECT_EQ(append("first").first.offset, PhysicalOffset{0});
}

TEST_F(CommitLogRawTest, P8BytesThatDoNotGoOnAtTheEndAreOutOfRangeWithTheOffsetExpected) {
  make_master();
  open();
  ASSERT_TRUE(copy_step(1000));
  for (const std::int64_t wrong : {0, 999, 1001, 16384}) {
    const auto refused = log_->append_raw(PhysicalOffset{wrong}, master_bytes({}, 10));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), ErrorCode::kOutOfRange);
    EXPECT_EQ(number_of(refused.error(), "expected"), 1000);
  }
}

TEST_F(CommitLogRawTest, P6AChangedBitOfACompletedRecordIsRefusedAndNothingIsKept) {
  make_master();
  open();
  ReadBatch batch;
  ASSERT_TRUE(master_->read(PhysicalOffset{0}, {.count_max = 1, .limit = Limit::kFilled}, batch));
  const std::int64_t record_bytes = batch.front().record_bytes;
  // Fields that the record's own rules cover: size, magic, body CRC, offset, body.
  for (const std::size_t at : {0U, 5U, 9U, 30U, 200U}) {
    std::vector<std::byte> bytes = master_bytes({}, record_bytes);
    bytes[at] ^= std::byte{0x10};
    const auto refused = log_->append_raw(PhysicalOffset{0}, bytes);
    if (at == 0) {  // a larger size: a part of a record too large for the file
      ASSERT_FALSE(refused);
    }
    ASSERT_FALSE(refused) << at;
    EXPECT_EQ(refused.error().code(), ErrorCode::kCorruption) << at;
    EXPECT_EQ(log_->filled_offset(), PhysicalOffset{0});
  }
  copy_all(1 << 20);
  expect_same_as_master();
}

TEST_F(CommitLogRawTest, P6ARefusedPieceLeavesThePartBeforeItToBeCompleted) {
  make_master();
  open();
  ASSERT_TRUE(copy_step(300));
  std::vector<std::byte> rest = master_bytes(PhysicalOffset{300}, 2000);
  rest[100] ^= std::byte{1};
  EXPECT_EQ(log_->append_raw(PhysicalOffset{300}, rest).error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(log_->filled_offset(), PhysicalOffset{300});
  copy_all(777);
  expect_same_as_master();
}

// A Java broker that appends our message again copies its `__CRC32#` and leaves it stale.
TEST_F(CommitLogRawTest, AStaleRecordCrcOfAnotherLogIsNoRotInRawBytes) {
  make_master();
  ReadBatch batch;
  ASSERT_TRUE(master_->read(PhysicalOffset{0}, {.count_max = 1, .limit = Limit::kFilled}, batch));
  std::vector<std::byte> bytes = master_bytes({}, batch.front().record_bytes);
  bytes[bytes.size() - 3] ^= std::byte{1};  // a digit
  ASSERT_FALSE(record_crc_matches(bytes));
  open(FlushPolicy::kSync);

  ASSERT_TRUE(log_->append_raw(PhysicalOffset{0}, bytes));
  const AppendReceipt own = append("own");
  EXPECT_EQ(bodies().size(), 2U);
  std::vector<std::byte> again = bytes;
  reopen();
  EXPECT_EQ(bodies().size(), 2U);
  EXPECT_TRUE(log_->quarantine().empty());
  // In our own range the same digit is rot.
  std::array<std::byte, 1> digit{std::byte{0x7f}};
  disk_.rot(log_file(own.first.offset), own.end.value - 3, digit);
  ReadBatch rotten = read(own.first.offset);
  EXPECT_TRUE(rotten.empty());
  EXPECT_EQ(rotten.damaged().size(), 1U);
}

TEST_F(CommitLogRawTest, AStaleRecordCrcBehindOwnRecordsIsNoRotEither) {
  open(FlushPolicy::kSync);
  append("own");
  const PhysicalOffset at = log_->filled_offset();
  RecordEncoder encoder;
  ASSERT_TRUE(encoder.prepare(message_of("raw"), loopback_host(), true, {}));
  std::vector<std::byte> bytes;
  for (const auto piece : encoder.finish({.offset = at, .queue_offset = {1}})) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  bytes[bytes.size() - 3] ^= std::byte{1};

  ASSERT_TRUE(log_->append_raw(at, bytes));

  EXPECT_THAT(bodies(), ElementsAre("own", "raw"));
  crash(CrashKind::kProcessKill);
  open();
  EXPECT_THAT(bodies(), ElementsAre("own", "raw"));
  append("own again");
  ASSERT_TRUE(log_->flush());
  crash(CrashKind::kPowerCut, 3);
  open();
  EXPECT_THAT(bodies(), ElementsAre("own", "raw", "own again"));
  EXPECT_TRUE(log_->quarantine().empty());
}

TEST_F(CommitLogTruncateTest, CutsTheLogBackAndTakesQueueOffsetsBack) {
  open();
  append(message_of("kept", "orders", 0));
  const AppendReceipt cut = append(message_of("cut", "orders", 0));
  append(message_of("cut too", "bills", 5));

  const auto done = log_->truncate(cut.first.offset);

  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(log_->filled_offset(), cut.first.offset);
  EXPECT_EQ(log_->flushed_offset(), cut.first.offset);
  EXPECT_EQ(log_->confirm_offset(), cut.first.offset);
  EXPECT_THAT(bodies(), ElementsAre("kept"));
  EXPECT_EQ(log_->next_queue_offset("orders", QueueId{0}), QueueOffset{1});
  EXPECT_EQ(log_->next_queue_offset("bills", QueueId{5}), QueueOffset{0});
  const AppendReceipt next = append("next");
  EXPECT_EQ(next.first.offset, cut.first.offset);
  EXPECT_EQ(next.first.queue_offset, QueueOffset{1});
  reopen();
  EXPECT_THAT(bodies(), ElementsAre("kept", "next"));
}

TEST_F(CommitLogTruncateTest, WhatIsCutIsSaved) {
  open();
  append("kept");
  const PhysicalOffset cut = append("cut").first.offset;
  ASSERT_TRUE(log_->truncate(cut));
  const auto saved = disk_.list("/store/kerolox/cut");
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(saved->size(), 1U);
}

TEST_F(CommitLogTruncateTest, LaterFilesGoAndTheLogRollsAgain) {
  open();
  const PhysicalOffset first = append("first").end;
  const std::string body(6000, 'x');
  for (int i = 0; i < 9; ++i) {
    append(body);
  }
  ASSERT_TRUE(exists(log_file(PhysicalOffset{2 * kFileBytes})));

  ASSERT_TRUE(log_->truncate(first));

  EXPECT_FALSE(exists(log_file(PhysicalOffset{kFileBytes})));
  EXPECT_FALSE(exists(log_file(PhysicalOffset{2 * kFileBytes})));
  for (int i = 0; i < 9; ++i) {
    append(body);
  }
  EXPECT_EQ(bodies().size(), 10U);
  crash(CrashKind::kPowerCut, 7);
  open();
  EXPECT_EQ(bodies().size(), 10U);
}

TEST_F(CommitLogTruncateTest, AFilesBeginAndTheLogsBeginArePlacesToCut) {
  open();
  const std::string body(6000, 'x');
  for (int i = 0; i < 5; ++i) {
    append(body);
  }
  ASSERT_TRUE(log_->truncate(PhysicalOffset{kFileBytes}));
  EXPECT_EQ(append("at the file's begin").first.offset, PhysicalOffset{kFileBytes});
  ASSERT_TRUE(log_->truncate(PhysicalOffset{0}));
  EXPECT_THAT(bodies(), ElementsAre());
  EXPECT_EQ(append("anew").first.queue_offset, QueueOffset{0});
  reopen();
  EXPECT_THAT(bodies(), ElementsAre("anew"));
}

TEST_F(CommitLogTruncateTest, WaitersAboveTheCutEndWithStaleEpochAndThoseBelowGoOn) {
  open(FlushPolicy::kSync);
  Outcome below;
  Outcome above;
  submit("below", {}, below);
  const Ticket cut = submit("above", {}, above);

  ASSERT_TRUE(log_->truncate(cut.first.offset));

  ASSERT_EQ(above.calls, 1);
  EXPECT_EQ(above.error(), ErrorCode::kStaleEpoch);
  run_until_idle();
  ASSERT_EQ(below.calls, 1);
  EXPECT_EQ(below.receipt().level.local, LocalLevel::kDisk);
  EXPECT_EQ(above.calls, 1);
}

TEST_F(CommitLogTruncateTest, P8PlacesThatCannotBeCutAreRefusedAndNothingChanges) {
  open();
  const PhysicalOffset end = append("one").end;
  const auto behind = log_->truncate(end + 1);
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(number_of(behind.error(), "max"), end.value);
  EXPECT_EQ(log_->truncate(PhysicalOffset{-1}).error().code(), ErrorCode::kOutOfRange);
  EXPECT_EQ(log_->truncate(PhysicalOffset{10}).error().code(), ErrorCode::kInvalidArgument);
  EXPECT_FALSE(log_->failure());
  EXPECT_TRUE(log_->truncate(end)) << "nothing to cut";
  EXPECT_THAT(bodies(), ElementsAre("one"));
}

TEST_F(CommitLogTruncateTest, APinnedBatchStaysReadableMemory) {
  open();
  append("kept");
  const PhysicalOffset cut = append("pinned").first.offset;
  const ReadBatch batch = read(cut);
  ASSERT_EQ(batch.size(), 1U);
  ASSERT_TRUE(log_->truncate(cut));
  append("another");
  std::size_t sum = 0;
  for (const std::byte byte : batch.front().record) {
    sum += std::to_integer<std::size_t>(byte);
  }
  EXPECT_EQ(batch.front().body.size(), 6U);
  EXPECT_LE(sum, batch.front().record.size() * 255);
}

TEST_F(CommitLogTruncateTest, ReplicatedWatermarksComeBackWithTheCut) {
  options_.replica_level = ReplicaLevel::kSynced;
  options_.replica_count = 1;
  open(FlushPolicy::kSync);
  const PhysicalOffset kept = append("kept", kFromDisk).end;
  const PhysicalOffset end = append("cut", kFromDisk).end;
  log_->set_replicated(end, end);
  ASSERT_TRUE(log_->truncate(kept));
  EXPECT_EQ(log_->replicated_synced_offset(), kept);
  append("not copied", kFromDisk);
  EXPECT_EQ(log_->confirm_offset(), kept);
}

// A crash at every call of the truncation: the log is cut, or whole, and never a mixture; and what
// lies below the cut stays.
TEST_F(CommitLogTruncateTest, ACrashInTheMiddleLeavesTheWholeLogOrTheCutOne) {
  for (const CrashKind kind : {CrashKind::kPowerCut, CrashKind::kProcessKill}) {
    for (std::uint64_t n = 1;; ++n) {
      SCOPED_TRACE(::testing::Message() << "crash at call " << n << " kind " << int(kind));
      CrashFileSystem disk;
      auto opened = CommitLog::open(options_, disk, clock_);
      ASSERT_TRUE(opened) << opened.error().text();
      std::vector<PhysicalOffset> records;
      const std::string body(5000, 'x');
      for (int i = 0; i < 6; ++i) {
        records.push_back((*opened)->append_and_wait(message_of(body))->first.offset);
      }
      disk.crash_at(n);
      const bool cut = (*opened)->truncate(records[2]).has_value();
      const bool finished = !disk.crash_point_reached();
      disk.crash(kind, n);
      opened = Error(ErrorCode::kShutdown, "dead");
      auto again = CommitLog::open(options_, disk, clock_);
      ASSERT_TRUE(again) << again.error().text();
      const std::int64_t next = (*again)->next_queue_offset("orders", QueueId{0}).value;
      ASSERT_TRUE(next == 2 || (next == 6 && !cut)) << next;
      EXPECT_EQ((*again)->filled_offset() == records[2], next == 2);
      ReadBatch batch;
      ASSERT_TRUE((*again)->read(records[1], {}, batch));
      EXPECT_EQ(text_of(batch.front().body), body);
      EXPECT_EQ((*again)->append_and_wait(message_of("next"))->first.queue_offset.value, next);
      if (finished) {
        ASSERT_GT(n, 5U);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace kerolox::storage
