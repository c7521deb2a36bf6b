#include "storage/recovery.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <limits>
#include <string>
#include <vector>

#include "storage/recovery_fixture.h"

namespace kerolox::storage {
namespace {

using Bodies = std::vector<std::string>;

class RecoveryTest : public RecoveryFixture {};

TEST_F(RecoveryTest, AStoreWithoutALogIsEmpty) {
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kEmpty);
  EXPECT_EQ(recovered.report.last_writer, LastWriter::kNobody);
  EXPECT_EQ(recovered.report.end, PhysicalOffset{0});
  EXPECT_TRUE(recovered.layout.files.empty());
  EXPECT_TRUE(recovered.checkpoint.clean);
}

TEST_F(RecoveryTest, ALogClosedAtItsRecordedEndIsClean) {
  log_.append("one");
  log_.append("two");
  write_log();
  Checkpoint checkpoint = checkpoint_at(log_.end());
  checkpoint.clean = true;
  save(checkpoint);
  const auto before = contents();
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kClean);
  EXPECT_EQ(recovered.report.last_writer, LastWriter::kKerolox);
  EXPECT_TRUE(recovered.report.clean_stop);
  EXPECT_EQ(recovered.report.records_scanned, 0);
  EXPECT_EQ(recovered.report.end, log_.end());
  EXPECT_EQ(recovered.checkpoint.last_record, log_.records()[1]);
  EXPECT_EQ(recovered.checkpoint.queue_offsets,
            (std::vector<NextQueueOffset>{{"orders", QueueId{0}, QueueOffset{2}}}));
  EXPECT_EQ(contents(), before);
}

TEST_F(RecoveryTest, WorkAfterAKillDependsOnTheBytesSinceTheCheckpoint) {
  for (int i = 0; i < 200; ++i) {
    log_.append("before " + std::to_string(i));
  }
  const PhysicalOffset synced = log_.end();
  log_.append("after");
  write_log();
  save(checkpoint_at(synced));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.scanned_from, synced);
  EXPECT_EQ(recovered.report.records_scanned, 1);
  EXPECT_EQ(recovered.report.end, log_.end());
  EXPECT_EQ(recovered.checkpoint.queue_offsets,
            (std::vector<NextQueueOffset>{{"orders", QueueId{0}, QueueOffset{201}}}));
}

TEST_F(RecoveryTest, ZerosBehindTheLastRecordEndTheLog) {
  log_.append("one");
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kZeros);
  EXPECT_EQ(recovered.report.cut_bytes, 0);
  EXPECT_EQ(recovered.checkpoint.synced, log_.end());
  EXPECT_EQ(recovered.checkpoint.written_limit, log_.end());
  EXPECT_TRUE(recovered.checkpoint.clean);
}

TEST_F(RecoveryTest, P1ATornRecordIsSavedAndZeroed) {
  log_.append("whole");
  const PhysicalOffset torn = log_.append("torn");
  const PhysicalOffset first_nonzero = torn + 3;  // its size begins with zeros
  const auto left = log_.bytes(first_nonzero, log_.end() - 10);
  const std::vector<std::byte> lost(left.begin(), left.end());
  log_.zero(log_.end() - 10, log_.end());
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kTornRecord);
  EXPECT_EQ(recovered.report.end, torn);
  EXPECT_TRUE(zeros(torn, log_.end_of_files()));
  EXPECT_EQ(bodies(), Bodies{"whole"});

  EXPECT_EQ(recovered.report.cut_bytes, static_cast<std::int64_t>(lost.size()));
  const auto saved = load_cut(recovered.report.cut_file, disk_);
  ASSERT_TRUE(saved) << saved.error().text();
  ASSERT_EQ(saved->size(), 1U);
  EXPECT_EQ((*saved)[0].offset, first_nonzero);
  EXPECT_EQ((*saved)[0].bytes, lost);
}

TEST_F(RecoveryTest, P1WhatFollowsAHoleIsCutEvenIfItIsWhole) {
  log_.append("one");
  const PhysicalOffset hole = log_.append("lost");
  const PhysicalOffset behind = log_.append("behind");
  log_.zero(hole, behind);
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, hole);
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kTornRecord);
  EXPECT_TRUE(zeros(hole, log_.end_of_files()));
}

TEST_F(RecoveryTest, ARecordOfAnotherPlaceIsStale) {
  log_.append("one");
  const PhysicalOffset stale = log_.append("from elsewhere");
  log_.at(stale + 33) ^= std::byte{1};  // its physical offset
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kStaleRecord);
  EXPECT_EQ(recovered.report.end, stale);
  EXPECT_TRUE(zeros(stale, log_.end_of_files()));
}

TEST_F(RecoveryTest, BytesThatNeverWereARecordAreForeign) {
  log_.append("one");
  const PhysicalOffset end = log_.end();
  log_.overwrite(end, "no record begins like this");
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kForeignBytes);
  EXPECT_EQ(recovered.report.end, end);
  EXPECT_TRUE(zeros(end, log_.end_of_files()));
}

TEST_F(RecoveryTest, BehindABlankWithoutANextFileTheLogEndsAtTheBlank) {
  log_.append("one");
  const PhysicalOffset blank = log_.end();
  log_.roll();
  log_.remove_file(PhysicalOffset{16384});
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kAfterBlank);
  EXPECT_EQ(recovered.report.end, blank);
  EXPECT_TRUE(zeros(blank, PhysicalOffset{16384}));
}

TEST_F(RecoveryTest, BehindABlankWithAnEmptyNextFileTheLogEndsAtItsBegin) {
  log_.append("one");
  log_.roll();
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kAfterBlank);
  EXPECT_EQ(recovered.report.end, PhysicalOffset{16384});
  EXPECT_EQ(recovered.layout.files.size(), 2U);
  EXPECT_EQ(recovered.checkpoint.last_record, PhysicalOffset{-1});
  EXPECT_EQ(recover().report.end, PhysicalOffset{16384});
}

TEST_F(RecoveryTest, AGapAboveTheSyncedOffsetEndsTheLog) {
  log_.append("one");
  const PhysicalOffset blank = log_.end();
  log_.roll();
  log_.append("in the missing file");
  log_.roll();
  log_.append("behind the gap");
  log_.remove_file(PhysicalOffset{16384});
  write_log();
  save(checkpoint_at(blank));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kMissingFile);
  EXPECT_EQ(recovered.report.end, blank);
  EXPECT_EQ(recovered.report.removed_files, 1);
  EXPECT_GT(recovered.report.cut_bytes, 100);
  EXPECT_EQ(bodies(), Bodies{"one"});
}

TEST_F(RecoveryTest, AGapInWhatWasSyncedIsRefusedAndNothingChanges) {
  log_.append("one");
  log_.roll();
  log_.append("in the missing file");
  log_.roll();
  log_.append("behind the gap");
  log_.remove_file(PhysicalOffset{16384});
  write_log();
  save(checkpoint_at(log_.end()));
  const auto before = contents();
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(recovered.error().place(), place_of(PhysicalOffset{16384}));
  EXPECT_FALSE(recovered.error().remedy().empty());
  EXPECT_EQ(contents(), before);
}

TEST_F(RecoveryTest, AMissingLastFileThatWasSyncedIsRefused) {
  log_.append("one");
  log_.roll();
  log_.append("in the last file");
  const Checkpoint checkpoint = checkpoint_at(log_.end());
  log_.remove_file(PhysicalOffset{16384});
  write_log();
  save(checkpoint);
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(recovered.error().place(), place_of(PhysicalOffset{16384}));
}

TEST_F(RecoveryTest, AMissingFirstFileIsRefusedAndNothingChanges) {
  log_.append("in the first file");
  log_.roll();
  log_.append("behind");
  const Checkpoint checkpoint = checkpoint_at(log_.end());
  log_.remove_file(PhysicalOffset{0});
  write_log();
  save(checkpoint);
  const auto before = contents();
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(recovered.error().place(), place_of(PhysicalOffset{0}));
  EXPECT_FALSE(recovered.error().remedy().empty());
  EXPECT_EQ(contents(), before);
  // As the remedy says: without the checkpoint, and without what the file held.
  ASSERT_TRUE(disk_.remove("/store/kerolox/checkpoint-a"));
  ASSERT_TRUE(disk_.remove("/store/kerolox/checkpoint-b"));
  EXPECT_EQ(recover().report.min_offset, PhysicalOffset{16384});
  EXPECT_EQ(bodies(), Bodies{"behind"});
  EXPECT_EQ(recover().report.min_offset, PhysicalOffset{16384});
}

TEST_F(RecoveryTest, ALogThatLostAllItsFilesIsRefused) {
  log_.append("one");
  log_.roll();
  write_log();
  Checkpoint checkpoint = checkpoint_at(PhysicalOffset{16384});  // behind a blank: no last record
  checkpoint.written_limit = checkpoint.synced;
  save(checkpoint);
  ASSERT_TRUE(disk_.remove(log_directory() / log_file_name(PhysicalOffset{0})));
  const auto next = disk_.remove(log_directory() / log_file_name(PhysicalOffset{16384}));
  EXPECT_TRUE(next || next.error().code() == ErrorCode::kNotFound);
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(recovered.error().place(), place_of(PhysicalOffset{0}));
}

TEST_F(RecoveryTest, FirstFilesThatJavaRemovedAreNotMissed) {
  log_.append("expired");
  log_.roll();
  log_.append("kept");
  const Checkpoint checkpoint = checkpoint_at(log_.end());
  log_.remove_file(PhysicalOffset{0});
  write_log();
  save(checkpoint);
  make_java_store(1'700'000'000'000, false);  // it ran since, and its retention did that
  EXPECT_EQ(recover().report.min_offset, PhysicalOffset{16384});
  EXPECT_EQ(bodies(), Bodies{"kept"});
}

TEST_F(RecoveryTest, AGapBeforeJavasSpareFilesOnlyEndsTheLog) {
  log_.append("one");
  log_.roll();
  log_.roll();
  log_.remove_file(PhysicalOffset{16384});
  write_log();
  make_java_store(0, true);
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kMissingFile);
  EXPECT_EQ(recovered.report.removed_files, 1);
}

TEST_F(RecoveryTest, SpareFilesBehindTheEndAreNormalAndGo) {
  log_.append("one");
  const PhysicalOffset end = log_.end();
  log_.at(PhysicalOffset{16384}) = std::byte{0};
  log_.at(PhysicalOffset{32768}) = std::byte{0};
  write_log();
  make_java_store(0, true);
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end_kind, LogEnd::kZeros);
  EXPECT_EQ(recovered.report.end, end);
  EXPECT_EQ(recovered.report.last_writer, LastWriter::kJava);
  EXPECT_FALSE(recovered.report.clean_stop);
  EXPECT_EQ(recovered.report.removed_files, 2);
  EXPECT_EQ(recovered.report.cut_bytes, 0);
  EXPECT_EQ(contents().size(), 1U);
}

TEST_F(RecoveryTest, P1LaterFilesAreSavedAndRemoved) {
  const PhysicalOffset first = log_.append("one");
  log_.roll();
  log_.append("in a later file");
  log_.at(first + 90) ^= std::byte{1};
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, log_.min());
  EXPECT_EQ(recovered.report.removed_files, 1);
  const auto saved = load_cut(recovered.report.cut_file, disk_);
  ASSERT_TRUE(saved) << saved.error().text();
  EXPECT_EQ(saved->back().offset, PhysicalOffset{16384} + 3);  // its size begins with zeros
  EXPECT_TRUE(bodies().empty());
}

TEST_F(RecoveryTest, ASecondRecoveryChangesNothing) {
  log_.append("whole");
  log_.append("torn");
  log_.zero(log_.end() - 10, log_.end());
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog first = recover();
  const auto before = contents();
  const RecoveredLog second = recover();
  EXPECT_EQ(second.report.end, first.report.end);
  EXPECT_EQ(second.report.end_kind, LogEnd::kClean);
  EXPECT_EQ(second.report.cut_bytes, 0);
  EXPECT_EQ(contents(), before);
}

TEST_F(RecoveryTest, ATruncationThatWasBegunIsCompleted) {
  log_.append("stays");
  const PhysicalOffset cut = log_.append("goes");
  log_.append("goes, too");
  write_log();
  Checkpoint checkpoint = checkpoint_at(cut);
  checkpoint.cut_to = cut;
  save(checkpoint);
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, cut);
  EXPECT_FALSE(recovered.checkpoint.cut_to.has_value());
  EXPECT_EQ(recovered.checkpoint.queue_offsets,
            (std::vector<NextQueueOffset>{{"orders", QueueId{0}, QueueOffset{1}}}));
  EXPECT_TRUE(zeros(cut, log_.end_of_files()));
}

TEST_F(RecoveryTest, ATruncationBelowTheSyncedOffsetCountsQueuesAnew) {
  log_.append("stays");
  const PhysicalOffset cut = log_.append("goes");
  log_.append("goes, too");
  write_log();
  Checkpoint checkpoint = checkpoint_at(log_.end());
  checkpoint.cut_to = cut;
  save(checkpoint);
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, cut);
  EXPECT_EQ(recovered.checkpoint.queue_offsets,
            (std::vector<NextQueueOffset>{{"orders", QueueId{0}, QueueOffset{1}}}));
}

TEST_F(RecoveryTest, PreparedAndRollbackRecordsTakeNoPlaceInTheirQueue) {
  log_.append("counts");
  log_.append("half", {.sys_flag = sys_flag::kTransactionPrepared});
  log_.append("undone", {.sys_flag = sys_flag::kTransactionRollback});
  log_.append("committed", {.sys_flag = sys_flag::kTransactionCommit});
  write_log();
  save(checkpoint_at(log_.min()));
  EXPECT_EQ(recover().checkpoint.queue_offsets,
            (std::vector<NextQueueOffset>{{"orders", QueueId{0}, QueueOffset{2}}}));
}

class KnownOffsets final : public QueueOffsetSource {
 public:
  Result<Known> load(PhysicalOffset log_end) override {
    asked_with = log_end;
    return known;
  }
  Known known;
  PhysicalOffset asked_with{-1};
};

TEST_F(RecoveryTest, QueuesWhoseRecordsAreGoneComeFromTheSource) {
  log_.append("one", {.topic = "kept"});
  const PhysicalOffset up_to = log_.end();
  log_.append("two", {.topic = "kept"});
  write_log();
  KnownOffsets source;
  source.known = {up_to,
                  {{"expired", QueueId{1}, QueueOffset{70}}, {"kept", QueueId{0}, QueueOffset{1}}}};
  input_.queue_offsets = &source;
  EXPECT_EQ(recover().checkpoint.queue_offsets,
            (std::vector<NextQueueOffset>{{"expired", QueueId{1}, QueueOffset{70}},
                                          {"kept", QueueId{0}, QueueOffset{2}}}));
  EXPECT_EQ(source.asked_with, log_.end());
}

TEST_F(RecoveryTest, AVoidCheckpointMeansAScanOfAllFiles) {
  log_.append("one");
  const PhysicalOffset second = log_.append("two");
  log_.append("three");
  write_log();
  Checkpoint checkpoint = checkpoint_at(log_.end());
  checkpoint.last_record = second;  // another record ends there
  save(checkpoint);
  const auto seen = survey();
  ASSERT_TRUE(seen);
  EXPECT_TRUE(seen->checkpoint_void);
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.scanned_from, log_.min());
  EXPECT_EQ(recovered.report.records_scanned, 3);
  EXPECT_EQ(recovered.report.end, log_.end());
}

TEST_F(RecoveryTest, WhereJavaWroteOurBoundsNoLongerHold) {
  log_.append("ours");
  const PhysicalOffset synced = log_.end();
  log_.append("Java's", {.record_crc = false});
  write_log();
  Checkpoint checkpoint = checkpoint_at(synced);
  checkpoint.written_limit = synced;
  save(checkpoint);
  make_java_store(0, true);
  const auto seen = survey();
  ASSERT_TRUE(seen) << seen.error().text();
  EXPECT_TRUE(seen->java_wrote);
  EXPECT_FALSE(seen->checkpoint_void);
  EXPECT_EQ(seen->scanned_from, synced);
  EXPECT_EQ(seen->written_limit, log_.end_of_files());
  EXPECT_EQ(seen->rules.own_ranges, (std::vector<OwnRange>{{log_.min(), synced}}));
  EXPECT_EQ(recover().report.last_writer, LastWriter::kJava);
}

TEST_F(RecoveryTest, AnOldPartOfTheLogThatWasShortenedIsRefusedByNameAndNothingChanges) {
  log_.append("one");
  log_.roll();
  log_.append("two");
  write_log();
  save(checkpoint_at(log_.end()));
  auto file = disk_.open(log_directory() / log_file_name(log_.min()),
                         {.mode = OpenOptions::Mode::kReadWrite});
  ASSERT_TRUE((*file)->resize(1000));
  const auto before = contents();
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kCorruption);
  EXPECT_EQ(contents(), before);
}

TEST_F(RecoveryTest, ANameBeyondAllOffsetsIsRefused) {
  LogBuilder far(16384, std::numeric_limits<std::int64_t>::max() / 16384 * 16384);
  far.at(far.min()) = std::byte{0};
  far.write(log_directory(), disk_);
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kCorruption);
}

TEST_F(RecoveryTest, AnUnreadableOrReadOnlyStoreIsRefusedWithItsCause) {
  log_.append("one");
  log_.overwrite(log_.end(), "garbage");
  write_log();
  save(checkpoint_at(log_.min()));
  disk_.fail_call(1, EACCES);
  EXPECT_EQ(try_recover().error().code(), ErrorCode::kPermission);
  disk_.clear_failures();
  disk_.set_read_only(true);
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kPermission);
  disk_.set_read_only(false);
  EXPECT_EQ(recover().report.end, log_.end());
}

TEST_F(RecoveryTest, ALogOfAReplicaBeginsAtAnyFile) {
  log_ = LogBuilder(16384, 5 * 16384);
  log_.append("first that is kept");
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.min_offset, PhysicalOffset{5 * 16384});
  EXPECT_EQ(recovered.report.end, log_.end());
  EXPECT_EQ(bodies(), Bodies{"first that is kept"});
}

TEST_F(RecoveryTest, EveryEndHasAName) {
  for (int end = 0; end <= static_cast<int>(LogEnd::kForeignBytes); ++end) {
    EXPECT_NE(name(static_cast<LogEnd>(end)), "unknown") << end;
  }
}

}  // namespace
}  // namespace kerolox::storage
