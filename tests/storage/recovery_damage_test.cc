// What recovery does about rot, failed syncs, stale bytes and lost names.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "storage/recovery.h"
#include "storage/recovery_fixture.h"

namespace kerolox::storage {
namespace {

using Bodies = std::vector<std::string>;

class RecoveryDamageTest : public RecoveryFixture {};

TEST_F(RecoveryDamageTest, P6W10RotBelowTheSyncedOffsetIsNeverCut) {
  const PhysicalOffset rotten = log_.append("rotten");
  log_.append("good");
  write_log();
  save(checkpoint_at(log_.end()));
  disk_.rot(log_directory() / log_file_name(log_.min()), rotten.value + 90,
            std::as_bytes(std::span("?", 1)));
  const auto before = contents();
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, log_.end());
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(bodies(), Bodies{"good"});
}

TEST_F(RecoveryDamageTest, P6RotOfTheLastSyncedRecordIsQuarantinedAndStaysSo) {
  log_.append("good");
  const PhysicalOffset rotten = log_.append("rotten");
  write_log();
  save(checkpoint_at(log_.end()));
  disk_.rot(log_directory() / log_file_name(log_.min()), rotten.value + 90,
            std::as_bytes(std::span("?", 1)));
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, log_.end());
  ASSERT_EQ(recovered.report.damaged.size(), 1U);
  EXPECT_EQ(recovered.report.damaged[0].offset, rotten);
  ASSERT_EQ(recovered.checkpoint.quarantine.size(), 1U);
  const RecoveredLog again = recover();
  EXPECT_EQ(again.report.end, log_.end());
  EXPECT_EQ(again.checkpoint.quarantine.size(), 1U);
}

// Its header alone: without our own checksum it would pass for another log's record.
TEST_F(RecoveryDamageTest, P6W1AFlippedHeaderBitOfTheLastSyncedRecordVoidsNothing) {
  log_.append("good");
  const PhysicalOffset rotten = log_.append("rotten");
  write_log();
  save(checkpoint_at(log_.end()));
  constexpr std::int64_t kStoreTimestampAt = 56;
  disk_.rot(log_directory() / log_file_name(log_.min()), rotten.value + kStoreTimestampAt,
            std::as_bytes(std::span("?", 1)));
  const RecoveredLog recovered = recover();
  ASSERT_EQ(recovered.report.damaged.size(), 1U);
  EXPECT_EQ(recovered.report.damaged[0].offset, rotten);
  EXPECT_EQ(recovered.report.scanned_from, log_.end());
  EXPECT_FALSE(recovered.checkpoint.own_ranges.empty());
}

TEST_F(RecoveryDamageTest, P6W10RotInAStoreOfJavasIsToldFromItsEndByTheCheckpointsTime) {
  log_.append("one", {.record_crc = false});
  const PhysicalOffset rotten = log_.append("rotten", {.record_crc = false});
  log_.append("three", {.record_crc = false});
  log_.at(rotten + 90) ^= std::byte{1};
  write_log();
  make_java_store(log_.last_timestamp_ms() + 3000, true);
  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, log_.end());
  ASSERT_EQ(recovered.report.damaged.size(), 1U);
  EXPECT_EQ(recovered.report.damaged[0].offset, rotten);
  EXPECT_EQ(bodies(), (Bodies{"one", "three"}));
}

TEST_F(RecoveryDamageTest, WithoutThatTimeTheFirstInvalidRecordEndsAStoreOfJavas) {
  log_.append("one", {.record_crc = false});
  const PhysicalOffset rotten = log_.append("rotten", {.record_crc = false});
  log_.append("three", {.record_crc = false});
  log_.at(rotten + 90) ^= std::byte{1};
  write_log();
  make_java_store(0, true);
  EXPECT_EQ(recover().report.end, rotten);
}

TEST_F(RecoveryDamageTest, BytesOfAnOlderGenerationAreNoEvidenceThatAnInvalidRecordIsRot) {
  log_.append("one", {.record_crc = false, .store_timestamp_ms = 1'700'000'100'000});
  const PhysicalOffset torn = log_.append("torn", {.record_crc = false});
  log_.append("older", {.record_crc = false, .store_timestamp_ms = 1'700'000'000'000});
  log_.at(torn + 90) ^= std::byte{1};
  write_log();
  make_java_store(1'800'000'000'000, true);
  EXPECT_EQ(recover().report.end, torn);
}

TEST_F(RecoveryDamageTest, W1AFlippedBitInAHeaderFieldIsNoticedWhereWeWroteTheRecord) {
  log_.append("one");
  const PhysicalOffset bent = log_.append("two");
  log_.at(bent + 15) ^= std::byte{1};  // its queue id, which the body's checksum does not cover
  write_log();
  save(checkpoint_at(log_.min()));
  EXPECT_EQ(recover().report.end, bent);
}

TEST_F(RecoveryDamageTest, W5RecordsOfEqualLengthOverACutTailReviveNothing) {
  log_.append("kept");
  const PhysicalOffset torn = log_.append("old1");
  log_.append("old2");
  log_.append("old3");
  LogBuilder bent = log_;
  bent.at(torn + 90) ^= std::byte{1};
  std::swap(bent, log_);
  write_log();
  save(checkpoint_at(log_.min()));
  const RecoveredLog recovered = recover();
  ASSERT_EQ(recovered.report.end, torn);

  // The next run appends one record of the length of the first that was cut, and dies.
  LogBuilder next(log_.file_bytes());
  next.append("kept");
  next.append("new1");
  const auto record = next.bytes(torn, next.end());
  auto file = disk_.open(log_directory() / log_file_name(log_.min()),
                         {.mode = OpenOptions::Mode::kReadWrite});
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(torn.value, record));
  Checkpoint checkpoint = recovered.checkpoint;
  checkpoint.clean = false;
  checkpoint.written_limit = log_.end_of_files();
  save(checkpoint);
  EXPECT_EQ(recover().report.end, next.end());
  EXPECT_EQ(bodies(), (Bodies{"kept", "new1"}));
}

TEST_F(RecoveryDamageTest, W7AFailedSyncIsNoSuccessAfterARestart) {
  log_.append("synced");
  const PhysicalOffset synced = log_.end();
  log_.append("lost by the disk");
  LogBuilder before(log_.file_bytes());
  before.append("synced");
  before.write(log_directory(), disk_);
  save(checkpoint_at(synced));
  auto file = disk_.open(log_directory() / log_file_name(log_.min()),
                         {.mode = OpenOptions::Mode::kReadWrite});
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(synced.value, log_.bytes(synced, log_.end())));
  disk_.fail_sync(1);
  ASSERT_FALSE((*file)->sync());
  disk_.crash(CrashKind::kProcessKill);

  const RecoveredLog recovered = recover();
  EXPECT_EQ(recovered.report.end, log_.end());
  EXPECT_GE(recovered.report.rewritten_bytes, log_.end() - synced);
  disk_.crash(CrashKind::kPowerCut, 1);
  EXPECT_EQ(bodies(), (Bodies{"synced", "lost by the disk"}));
}

TEST_F(RecoveryDamageTest, W7ZerosThatAFailedSyncKeptFromTheDiskAreWrittenAgain) {
  log_.append("kept");
  const PhysicalOffset cut = log_.append("cut long ago");
  write_log();
  Checkpoint checkpoint = checkpoint_at(cut);
  checkpoint.cut_to = cut;
  save(checkpoint);
  auto file = disk_.open(log_directory() / log_file_name(log_.min()),
                         {.mode = OpenOptions::Mode::kReadWrite});
  ASSERT_TRUE(file);
  const std::vector<std::byte> zeros(static_cast<std::size_t>(log_.end() - cut));
  ASSERT_TRUE((*file)->write_at(cut.value, zeros));
  disk_.fail_sync(1);
  ASSERT_FALSE((*file)->sync());
  disk_.crash(CrashKind::kProcessKill);

  recover();
  disk_.crash(CrashKind::kPowerCut, 1);
  EXPECT_EQ(bodies(), Bodies{"kept"});
}

TEST_F(RecoveryDamageTest, W7WithoutDirectReadsWhatWasNotSyncedIsWrittenAgain) {
  log_.append("synced");
  const PhysicalOffset synced = log_.end();
  log_.append("not yet");
  LogBuilder before(log_.file_bytes());
  before.append("synced");
  before.write(log_directory(), disk_);
  save(checkpoint_at(synced));
  disk_.set_direct_supported(false);
  auto file = disk_.open(log_directory() / log_file_name(log_.min()),
                         {.mode = OpenOptions::Mode::kReadWrite});
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(synced.value, log_.bytes(synced, log_.end())));
  disk_.fail_sync(1);
  ASSERT_FALSE((*file)->sync());
  disk_.crash(CrashKind::kProcessKill);
  EXPECT_EQ(recover().report.end, log_.end());
  disk_.crash(CrashKind::kPowerCut, 1);
  EXPECT_EQ(bodies(), (Bodies{"synced", "not yet"}));
}

TEST_F(RecoveryDamageTest, W20CutFilesAreNamedInAsciiDigits) {
  log_.append("one");
  log_.overwrite(log_.end(), "garbage");
  write_log();
  save(checkpoint_at(log_.min()));
  EXPECT_EQ(recover().report.cut_file, std::filesystem::path("/store/kerolox/cut") /
                                           (log_file_name(log_.end()) + "-1700000000000.bin"));
}

TEST_F(RecoveryDamageTest, W11AHostileSizeEndsTheLogAndIsNotAllocated) {
  log_.append("one");
  const PhysicalOffset hostile = log_.append("two");
  log_.overwrite(hostile, std::string_view("\x7F\xFF\xFF\xFF", 4));
  write_log();
  save(checkpoint_at(log_.min()));
  EXPECT_EQ(recover().report.end, hostile);
}

TEST_F(RecoveryDamageTest, TheNextCutOfTheSameMillisecondKeepsTheFirst) {
  log_.append("one");
  log_.overwrite(log_.end(), "garbage");
  write_log();
  save(checkpoint_at(log_.min()));
  const std::filesystem::path first = recover().report.cut_file;
  write_log();
  save(checkpoint_at(log_.min()));
  const std::filesystem::path second = recover().report.cut_file;
  EXPECT_NE(first, second);
  EXPECT_TRUE(load_cut(first, disk_));
  EXPECT_TRUE(load_cut(second, disk_));
}

TEST_F(RecoveryDamageTest, AFullDiskThatCannotSaveTheCutPartChangesNothing) {
  log_.append("one");
  log_.overwrite(log_.end(), std::string(8000, 'x'));
  write_log();
  save(checkpoint_at(log_.min()));
  const auto before = contents();
  disk_.set_capacity(0);
  const auto recovered = try_recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code(), ErrorCode::kNoSpace);
  EXPECT_EQ(contents(), before);
  disk_.set_capacity(std::int64_t{1} << 40);
  EXPECT_EQ(recover().report.end, log_.end());
}

TEST_F(RecoveryDamageTest, ADamagedCopyOfTheCheckpointMakesItLookFurtherThanTheOtherOneSays) {
  log_.append("one");
  const PhysicalOffset synced = log_.end();
  log_.append("two");
  log_.overwrite(log_.end(), "garbage far above the older limit");
  write_log();
  Checkpoint checkpoint = checkpoint_at(synced);
  checkpoint.written_limit = synced;
  CheckpointFiles files("/store/kerolox", disk_);
  ASSERT_TRUE(files.load());
  ASSERT_TRUE(files.save(checkpoint));
  checkpoint.written_limit = log_.end_of_files();
  ASSERT_TRUE(files.save(checkpoint));
  disk_.rot("/store/kerolox/checkpoint-b", 20, std::as_bytes(std::span("rotten", 6)));
  const auto seen = survey();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->written_limit, log_.end_of_files());
  EXPECT_EQ(seen->end, log_.end());
}

TEST_F(RecoveryDamageTest, W8NamesThatTheDeadRunHadNotSyncedAreSynced) {
  log_.append("one");
  write_log();
  log_.roll();
  log_.append("in a file whose name is not on the disk");
  auto file = disk_.open(log_directory() / log_file_name(PhysicalOffset{16384}),
                         {.mode = OpenOptions::Mode::kCreateNew});
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->resize(log_.file_bytes()));
  ASSERT_TRUE((*file)->write_at(0, log_.bytes(PhysicalOffset{16384}, log_.end())));
  write_blank_of_first_file();
  save(checkpoint_at(log_.min()));
  disk_.crash(CrashKind::kProcessKill);
  EXPECT_EQ(recover().report.end, log_.end());
  disk_.crash(CrashKind::kPowerCut, 0);
  EXPECT_EQ(bodies(), (Bodies{"one", "in a file whose name is not on the disk"}));
}

TEST_F(RecoveryDamageTest, W8TheCutFileKeepsItsNameWhenPowerFails) {
  log_.append("one");
  log_.overwrite(log_.end(), "garbage");
  write_log();
  save(checkpoint_at(log_.min()));
  const std::filesystem::path saved = recover().report.cut_file;
  disk_.crash(CrashKind::kPowerCut, 0);
  EXPECT_TRUE(load_cut(saved, disk_));
}

}  // namespace
}  // namespace kerolox::storage
