#include "kerolox/storage/read_only_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/recovery_fixture.h"
#include "storage/store_lock.h"

namespace kerolox::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ReadOnlyLogTest : public RecoveryFixture {
 protected:
  std::unique_ptr<ReadOnlyLog> open() {
    auto log = ReadOnlyLog::open({.directory = kStore}, disk_);
    EXPECT_TRUE(log) << log.error().text();
    return log ? *std::move(log) : nullptr;
  }
  StoreInfo info() {
    const auto log = open();
    auto found = log->info({});
    EXPECT_TRUE(found) << found.error().text();
    return found ? *std::move(found) : StoreInfo();
  }
  // A log of ours, closed, as CommitLog leaves it for a Java broker: `abort`, an empty checkpoint.
  void close_store() {
    write_log();
    JavaFiles java(kStore, disk_);
    ASSERT_TRUE(java.save_checkpoint({}));
    const auto pid = java.create_abort();
    ASSERT_TRUE(pid);
    Checkpoint checkpoint = checkpoint_at(log_.end());
    checkpoint.written_limit = log_.end();
    checkpoint.own_ranges = {{log_.min(), log_.end()}};
    checkpoint.clean = true;
    checkpoint.java_checkpoint_hash = *java.checkpoint_hash();
    checkpoint.abort_pid = *pid;
    save(checkpoint);
  }
  static std::string only(const std::vector<std::string>& reasons) {
    EXPECT_EQ(reasons.size(), 1U);
    return reasons.empty() ? std::string() : reasons.front();
  }
};

TEST_F(ReadOnlyLogTest, ShowsWhatRecoveryWouldKeepAndChangesNothing) {
  log_.append("one");
  log_.append("two");
  log_.append("torn");
  log_.zero(log_.end() - 10, log_.end());
  write_log();
  save(checkpoint_at(log_.min()));
  const auto before = contents();
  disk_.set_read_only(true);
  const auto log = open();
  ReadBatch batch;
  ASSERT_TRUE(log->read(log->min_offset(), 100, 1 << 20, batch));
  EXPECT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch.next_offset(), log->end());
  ASSERT_TRUE(log->info({}));
  disk_.set_read_only(false);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(recover().report.end, log->end());
}

TEST_F(ReadOnlyLogTest, ADirectoryWithoutALogIsNotFound) {
  const auto log = ReadOnlyLog::open({.directory = "/elsewhere"}, disk_);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code(), ErrorCode::kNotFound);
}

TEST_F(ReadOnlyLogTest, ALogWithoutFilesIsEmpty) {
  ASSERT_TRUE(disk_.create_directories(log_directory()));
  const StoreInfo found = info();
  EXPECT_EQ(found.file_bytes, 0);
  EXPECT_EQ(found.end_kind, LogEnd::kEmpty);
  EXPECT_EQ(found.last_writer, LastWriter::kNobody);
  ReadBatch batch;
  EXPECT_TRUE(open()->read(PhysicalOffset{0}, 1, 1, batch));
  EXPECT_TRUE(batch.empty());
}

TEST_F(ReadOnlyLogTest, InfoTellsFilesOffsetsAndWriter) {
  log_.append("one");
  log_.roll();
  log_.append("two");
  close_store();
  const StoreInfo found = info();
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_EQ(found.files[1].base, PhysicalOffset{16384});
  EXPECT_EQ(found.files[1].bytes, 16384);
  EXPECT_EQ(found.file_bytes, 16384);
  EXPECT_EQ(found.end, log_.end());
  EXPECT_EQ(found.flushed_offset, log_.end());
  EXPECT_EQ(found.last_writer, LastWriter::kKerolox);
  EXPECT_TRUE(found.clean_stop);
  EXPECT_TRUE(found.record_crc);
  EXPECT_TRUE(found.abort_file);
  EXPECT_FALSE(found.locked);
}

TEST_F(ReadOnlyLogTest, AClosedLogIsFitForJava) {
  log_.append("one");
  close_store();
  EXPECT_THAT(info().unfit_for_java_49, IsEmpty());
  EXPECT_THAT(info().unfit_for_java_5, IsEmpty());
}

TEST_F(ReadOnlyLogTest, AKilledLogOfOursIsNotFitUntilItIsRecovered) {
  log_.append("one");
  close_store();
  CheckpointFiles files("/store/kerolox", disk_);
  Checkpoint checkpoint = **files.load();
  checkpoint.clean = false;
  checkpoint.written_limit = log_.end_of_files();
  ASSERT_TRUE(files.save(checkpoint));
  EXPECT_THAT(only(info().unfit_for_java_49), HasSubstr("did not close"));
  EXPECT_THAT(only(info().unfit_for_java_5), HasSubstr("did not close"));
  recover();
  EXPECT_THAT(info().unfit_for_java_5, IsEmpty());
}

TEST_F(ReadOnlyLogTest, AnUnfinishedTruncationIsNotFit) {
  log_.append("one");
  const PhysicalOffset cut = log_.append("two");
  close_store();
  CheckpointFiles files("/store/kerolox", disk_);
  Checkpoint checkpoint = **files.load();
  checkpoint.cut_to = cut;
  ASSERT_TRUE(files.save(checkpoint));
  EXPECT_THAT(only(info().unfit_for_java_5), HasSubstr("truncation"));
}

TEST_F(ReadOnlyLogTest, RecordsOfVersion2AreNotForJava49) {
  const std::string topic = "%RETRY%" + std::string(200, 'g');
  log_.append("long topic", {.topic = topic});
  close_store();
  const StoreInfo found = info();
  EXPECT_EQ(found.records_v2, 1);
  EXPECT_THAT(only(found.unfit_for_java_49), HasSubstr("version 2"));
  EXPECT_THAT(found.unfit_for_java_5, IsEmpty());
}

TEST_F(ReadOnlyLogTest, DamageWhereJavaWouldScanIsNotFit) {
  const PhysicalOffset rotten = log_.append("rotten");
  log_.append("good");
  close_store();
  disk_.rot(log_directory() / log_file_name(log_.min()), rotten.value + 90,
            std::as_bytes(std::span("?", 1)));
  const StoreInfo found = info();
  ASSERT_EQ(found.quarantine.size(), 1U);
  EXPECT_EQ(found.quarantine[0].offset, rotten);
  EXPECT_THAT(only(found.unfit_for_java_5), HasSubstr("damaged at 0"));
}

TEST_F(ReadOnlyLogTest, DamageBelowWhereJavaScansAfterACleanStopDoesNotMatter) {
  const PhysicalOffset rotten = log_.append("rotten");
  for (int file = 0; file < 4; ++file) {
    log_.roll();
    log_.append("good");
  }
  close_store();
  ASSERT_TRUE(disk_.create_directories("/store/consumequeue/orders/0"));
  ASSERT_TRUE(JavaFiles(kStore, disk_).remove_abort());
  CheckpointFiles files("/store/kerolox", disk_);
  Checkpoint checkpoint = **files.load();
  checkpoint.abort_pid = 0;
  ASSERT_TRUE(files.save(checkpoint));
  disk_.rot(log_directory() / log_file_name(log_.min()), rotten.value + 90,
            std::as_bytes(std::span("?", 1)));
  const StoreInfo found = info();
  EXPECT_EQ(found.quarantine.size(), 1U);
  EXPECT_THAT(found.unfit_for_java_5, IsEmpty());
}

TEST_F(ReadOnlyLogTest, MissingQueuesWithoutAbortAreNotFit) {
  log_.append("one");
  close_store();
  ASSERT_TRUE(JavaFiles(kStore, disk_).remove_abort());
  EXPECT_THAT(only(info().unfit_for_java_5), HasSubstr("consume queues are missing"));
}

TEST_F(ReadOnlyLogTest, MissingQueuesWithACheckpointThatSkipsRecordsAreNotFit) {
  log_.append("one");
  log_.roll();
  log_.append("two");
  write_log();
  make_java_store(log_.last_timestamp_ms() + 3000, true);
  EXPECT_THAT(only(info().unfit_for_java_5), HasSubstr("from 16384 on only"));
}

TEST_F(ReadOnlyLogTest, AMissingFileIsNotFit) {
  log_.append("one");
  log_.roll();
  log_.append("missing");
  log_.roll();
  log_.append("three");
  log_.remove_file(PhysicalOffset{16384});
  close_store();
  const StoreInfo found = info();
  EXPECT_THAT(found.unfit_for_java_5, Not(IsEmpty()));
  EXPECT_THAT(found.unfit_for_java_5.front(), HasSubstr(log_file_name(PhysicalOffset{16384})));
}

TEST_F(ReadOnlyLogTest, ALockedStoreNamesItsOwnerAndIsNotFit) {
  log_.append("one");
  close_store();
  const auto lock = StoreLock::take(kStore, disk_, clock_);
  ASSERT_TRUE(lock) << lock.error().text();
  const StoreInfo found = info();
  EXPECT_TRUE(found.locked);
  EXPECT_THAT(found.owner, HasSubstr("pid "));
  EXPECT_THAT(only(found.unfit_for_java_5), HasSubstr(found.owner));
}

TEST_F(ReadOnlyLogTest, ReadingWithinARecordIsNoDamage) {
  const PhysicalOffset first = log_.append("one");
  log_.append("two");
  close_store();
  const auto log = open();
  ReadBatch batch;
  const auto result = log->read(first + 10, 10, 1 << 20, batch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), ErrorCode::kCorruption);
  EXPECT_TRUE(batch.empty());
  EXPECT_THAT(batch.damaged(), IsEmpty());
}

TEST_F(ReadOnlyLogTest, AFileThatShrinksOrGoesMeanwhileIsAnError) {
  log_.append("one");
  log_.roll();
  log_.append("two");
  close_store();
  const auto log = open();
  auto file = disk_.open(log_directory() / log_file_name(PhysicalOffset{16384}),
                         {.mode = OpenOptions::Mode::kReadWrite});
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->resize(10));
  ASSERT_TRUE(disk_.remove(log_directory() / log_file_name(log_.min())));
  ReadBatch batch;
  for (const PhysicalOffset at : {log_.min(), PhysicalOffset{16384}}) {
    const auto result = log->read(at, 10, 1 << 20, batch);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::kIoError);
    EXPECT_FALSE(result.error().place().empty());
  }
}

TEST_F(ReadOnlyLogTest, ProgressReachesTheEnd) {
  for (int i = 0; i < 500; ++i) {
    log_.append("message " + std::to_string(i));
  }
  close_store();
  PhysicalOffset reached;
  ASSERT_TRUE(open()->info([&reached](PhysicalOffset offset) { reached = offset; }));
  EXPECT_EQ(reached, log_.end());
}

TEST_F(ReadOnlyLogTest, SeveralDirectoriesAreOneLog) {
  log_.append("one");
  log_.roll();
  log_.append("two");
  LogBuilder first = log_;
  first.remove_file(PhysicalOffset{16384});
  LogBuilder second = log_;
  second.remove_file(PhysicalOffset{0});
  first.write("/disk1/log", disk_);
  second.write("/disk2/log", disk_);
  const auto log = ReadOnlyLog::open({.directory = kStore,
                                      .log_directories = {"/disk1/log"},
                                      .read_only_log_directories = {"/disk2/log"}},
                                     disk_);
  ASSERT_TRUE(log) << log.error().text();
  EXPECT_EQ((*log)->end(), log_.end());
}

}  // namespace
}  // namespace kerolox::storage
