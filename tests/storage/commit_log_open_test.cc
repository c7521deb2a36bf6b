// Opening, options, closing, and what a failure looks like from outside.
#include <gmock/gmock.h>
#include <unistd.h>

#include "storage/checkpoint.h"
#include "storage/commit_log_fixture.h"
#include "storage/java_files.h"

namespace kerolox::storage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CommitLogOpenTest : public CommitLogFixture {};

TEST_F(CommitLogOpenTest, P8AllFaultsOfTheOptionsComeAtOnce) {
  CommitLogOptions wrong;
  wrong.file_bytes = 4097;
  wrong.replica_level = ReplicaLevel::kWritten;
  wrong.flush_interval = 0ms;
  wrong.flush_bytes = 0;
  wrong.sync_timeout = 0ms;
  wrong.replica_timeout = std::chrono::milliseconds::max();  // would overflow in nanoseconds
  wrong.body_bytes_max = 0;
  wrong.tickets_max = 0;
  const auto refused = wrong.validate();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  for (const char* option :
       {"directory", "file_bytes", "replica_count", "flush_interval", "flush_bytes", "sync_timeout",
        "replica_timeout", "body_bytes_max", "tickets_max"}) {
    EXPECT_THAT(refused.error().text(), HasSubstr(option));
  }
  options_.tickets_max = -1;
  EXPECT_EQ(try_open().error().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(disk_.calls_made(), 0U) << "nothing was touched";
}

TEST_F(CommitLogOpenTest, DefaultsAreValidAndSync) {
  CommitLogOptions options;
  options.directory = "store";
  EXPECT_TRUE(options.validate());
  EXPECT_EQ(options.flush_policy, FlushPolicy::kSync);
}

TEST_F(CommitLogOpenTest, P8ASecondOpenIsLockedAndNamesTheOwner) {
  open();
  append("mine");
  const auto second = CommitLog::open(options_, disk_, clock_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kLocked);
  EXPECT_THAT(second.error().text(), HasSubstr(std::to_string(::getpid())));
  append("still mine");
}

TEST_F(CommitLogOpenTest, W9TheLockIsTakenBeforeAnythingIsTouched) {
  open();
  append("mine", kFromMemory);
  std::vector<std::string> changes;
  disk_.set_call_hook([&](std::uint64_t, std::string_view call) {
    if (call == "pwrite" || call == "ftruncate" || call == "rename" || call == "unlink" ||
        call == "fallocate") {
      changes.emplace_back(call);
    }
  });
  EXPECT_EQ(CommitLog::open(options_, disk_, clock_).error().code(), ErrorCode::kLocked);
  disk_.set_call_hook({});
  EXPECT_THAT(changes, ElementsAre());
}

TEST_F(CommitLogOpenTest, AClosedStoreCanBeOpenedAgainAtOnce) {
  open();
  append("m");
  ASSERT_TRUE(log_->close({}));
  auto second = CommitLog::open(options_, disk_, clock_);
  EXPECT_TRUE(second) << second.error().text();
}

TEST_F(CommitLogOpenTest, WithoutCreateIfMissingAMissingStoreIsNotFoundAndNotMade) {
  options_.create_if_missing = false;
  EXPECT_EQ(try_open().error().code(), ErrorCode::kNotFound);
  EXPECT_FALSE(exists("/store"));
  options_.create_if_missing = true;
  open();
  close();
  options_.create_if_missing = false;
  open();
}

TEST_F(CommitLogOpenTest, TheSizeOfFilesIsDetectedAndAnotherIsRefusedWithIt) {
  options_.file_bytes = 8192;
  open();
  append("m");
  close();
  options_.file_bytes = 0;
  open();
  EXPECT_EQ(log_->file_bytes(), 8192);
  close();
  options_.file_bytes = 16384;
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().text(), HasSubstr("8192"));
}

TEST_F(CommitLogOpenTest, SeveralDirectoriesAreReadNotWritten) {
  options_.log_directories = {"/store/a", "/store/b"};
  EXPECT_EQ(try_open().error().code(), ErrorCode::kUnsupported);
  options_.log_directories = {"/store/a"};
  options_.read_only_log_directories = {"/old"};
  const auto refused = try_open();
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
  EXPECT_FALSE(refused.error().remedy().empty());
  EXPECT_FALSE(exists("/store"));
}

TEST_F(CommitLogOpenTest, TheLogMayLieElsewhere) {
  options_.log_directories = {"/elsewhere/log"};
  open();
  append("m");
  EXPECT_TRUE(exists("/elsewhere/log/00000000000000000000"));
  EXPECT_FALSE(exists("/store/commitlog/00000000000000000000"));
  crash(CrashKind::kPowerCut, 5);
  open();
  EXPECT_THAT(bodies(), ElementsAre("m"));
}

TEST_F(CommitLogOpenTest, P2NewFoldersOfAnyDepthSurviveAPowerCutWithTheirFirstMessage) {
  options_.directory = "/a/b/c/store";
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CrashFileSystem disk;
    auto log = CommitLog::open(options_, disk, clock_);
    ASSERT_TRUE(log) << log.error().text();
    ASSERT_TRUE((*log)->append_and_wait(message_of("first")));
    disk.crash(CrashKind::kPowerCut, seed);
    log = Error(ErrorCode::kShutdown, "dead");
    auto again = CommitLog::open(options_, disk, clock_);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ((*again)->next_queue_offset("orders", QueueId{0}), QueueOffset{1}) << "seed " << seed;
  }
}

TEST_F(CommitLogOpenTest, AStoreWithQueuesOfJavasIsRefusedByName) {
  ASSERT_TRUE(disk_.create_directories("/store/consumequeue/orders/0"));
  auto file = disk_.open("/store/consumequeue/orders/0/00000000000000000000",
                         {.mode = OpenOptions::Mode::kCreateNew});
  ASSERT_TRUE(file);
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnsupported);
}

TEST_F(CommitLogOpenTest, AReadOnlyFileSystemIsAPermissionError) {
  open();
  append("m");
  close();
  disk_.set_read_only(true);
  EXPECT_EQ(try_open().error().code(), ErrorCode::kPermission);
  disk_.set_read_only(false);
  open();
  EXPECT_THAT(bodies(), ElementsAre("m"));
}

TEST_F(CommitLogOpenTest, OnAFullDiskOpeningIsNoSpace) {
  disk_.set_capacity(4096);
  EXPECT_EQ(try_open().error().code(), ErrorCode::kNoSpace);
  disk_.set_capacity(1 << 20);
  open();
  append("m");
}

TEST_F(CommitLogOpenTest, W8AFullDiskRefusesWritesAndRecoversByItself) {
  disk_.set_capacity(512 << 10);
  open(FlushPolicy::kSync);
  const std::string body(4000, 'x');
  std::size_t stored = 0;
  std::optional<Error> refusal;
  while (!refusal && stored < 1000) {
    const auto receipt = log_->append_and_wait(message_of(body));
    if (receipt) {
      ++stored;
    } else {
      refusal = receipt.error();
    }
  }
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code(), ErrorCode::kNoSpace);
  EXPECT_FALSE(log_->failure());
  clock_.advance(2s);
  run_until_idle();
  EXPECT_FALSE(log_->failure()) << log_->failure()->text();
  EXPECT_EQ(bodies().size(), stored);

  disk_.set_capacity(8 << 20);
  append(body);
  EXPECT_EQ(bodies().size(), stored + 1);
  reopen();
  EXPECT_EQ(bodies().size(), stored + 1);
}

class FixedSource final : public QueueOffsetSource {
 public:
  Result<Known> load(PhysicalOffset log_end) override {
    ++calls;
    asked = log_end;
    return known;
  }
  Known known;
  PhysicalOffset asked;
  int calls = 0;
};

TEST_F(CommitLogOpenTest, AFileWhereAFolderBelongsIsNamedWithARemedy) {
  ASSERT_TRUE(disk_.create_directories("/store/kerolox"));
  ASSERT_TRUE(disk_.open("/store/kerolox/spare", {.mode = OpenOptions::Mode::kCreateNew}));
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().place(), "/store/kerolox/spare");
  EXPECT_FALSE(opened.error().remedy().empty());
}

// What recovery looks at after a power cut reaches as far as appends do, though no background step
// raises it in time.
TEST_F(CommitLogOpenTest, P1TheRecordedLimitStaysAheadOfAppends) {
  options_.file_bytes = std::int64_t{64} << 20;
  open();
  const std::string body(std::size_t{4} << 20, 'b');
  std::int64_t raised = 0;
  PhysicalOffset limit;
  while (raised < 3) {
    append(body, kFromMemory);
    CheckpointFiles files("/store/kerolox", disk_);
    const auto saved = files.load();
    ASSERT_TRUE(saved && *saved);
    ASSERT_GE((*saved)->written_limit, log_->filled_offset());
    raised += (*saved)->written_limit > limit ? 1 : 0;
    limit = (*saved)->written_limit;
  }
  EXPECT_GE(log_->filled_offset().value, std::int64_t{128} << 20);
}

TEST_F(CommitLogOpenTest, WithoutACheckpointQueueOffsetsComeFromTheSource) {
  open();
  append("one");
  const PhysicalOffset end = append("two").end;
  close();
  ASSERT_TRUE(disk_.remove("/store/kerolox/checkpoint-a"));
  ASSERT_TRUE(disk_.remove("/store/kerolox/checkpoint-b"));
  FixedSource source;
  source.known = {.up_to = end,
                  .offsets = {{.topic = "orders", .queue = QueueId{0}, .next = QueueOffset{70}}}};
  options_.queue_offsets = &source;

  open();

  EXPECT_EQ(source.calls, 1);
  EXPECT_EQ(source.asked, end);
  EXPECT_EQ(append("three").first.queue_offset, QueueOffset{70});
  reopen();
  EXPECT_EQ(source.calls, 1) << "our own checkpoint knows";
  EXPECT_EQ(append("four").first.queue_offset, QueueOffset{71});
}

TEST_F(CommitLogOpenTest, WithoutACheckpointOrASourceAllRecordsAreCounted) {
  open();
  append("one");
  append(message_of("two", "bills", 3));
  close();
  ASSERT_TRUE(disk_.remove("/store/kerolox/checkpoint-a"));
  ASSERT_TRUE(disk_.remove("/store/kerolox/checkpoint-b"));
  open();
  EXPECT_EQ(log_->next_queue_offset("orders", QueueId{0}), QueueOffset{1});
  EXPECT_EQ(log_->next_queue_offset("bills", QueueId{3}), QueueOffset{1});
}

TEST_F(CommitLogOpenTest, TwoStoresInOneProcessDoNotMeet) {
  open();
  CommitLogOptions other = options_;
  other.directory = "/other";
  auto second = CommitLog::open(other, disk_, clock_);
  ASSERT_TRUE(second) << second.error().text();
  append("in the first");
  ASSERT_TRUE((*second)->append_and_wait(message_of("in the second", "bills")));
  append("again");
  EXPECT_THAT(bodies(), ElementsAre("in the first", "again"));
  ReadBatch batch;
  ASSERT_TRUE((*second)->read(PhysicalOffset{0}, {}, batch));
  ASSERT_EQ(batch.size(), 1U);
  EXPECT_EQ(batch.front().topic, "bills");
  EXPECT_EQ((*second)->next_queue_offset("orders", QueueId{0}), QueueOffset{0});
}

TEST_F(CommitLogOpenTest, ACleanStopLeavesNothingToScan) {
  open();
  append("m");
  reopen();
  const RecoveryReport& report = log_->recovery_report();
  EXPECT_TRUE(report.clean_stop);
  EXPECT_EQ(report.records_scanned, 0);
  EXPECT_EQ(report.cut_bytes, 0);
  EXPECT_EQ(report.end_kind, LogEnd::kClean);
  EXPECT_EQ(report.last_writer, LastWriter::kKerolox);
}

TEST_F(CommitLogOpenTest, AKillIsNoCleanStopAndTellsWhetherTheMachineRestarted) {
  open();
  append("m");
  crash(CrashKind::kProcessKill);
  open();
  EXPECT_FALSE(log_->recovery_report().clean_stop);
  EXPECT_FALSE(log_->recovery_report().machine_restarted);
  crash(CrashKind::kPowerCut);
  open();
  EXPECT_TRUE(log_->recovery_report().machine_restarted);
}

TEST_F(CommitLogOpenTest, ALogClosedAloneKeepsAbortAndLetsJavaDispatchEverything) {
  open();
  append("m");
  close({.derived_files_complete = false});
  JavaFiles java("/store", disk_);
  EXPECT_TRUE(java.abort_exists().value());
  const auto checkpoint = java.load_checkpoint();
  ASSERT_TRUE(checkpoint && *checkpoint);
  EXPECT_EQ((*checkpoint)->physic_timestamp_ms, 0);
  EXPECT_EQ((*checkpoint)->logics_timestamp_ms, 0);
}

TEST_F(CommitLogOpenTest, WithCompleteQueuesAbortGoesAndJavaNeedsNoRebuild) {
  open();
  const std::int64_t time = append("m").store_timestamp_ms;
  JavaFiles java("/store", disk_);
  EXPECT_TRUE(java.abort_exists().value());
  close({.derived_files_complete = true});
  EXPECT_FALSE(java.abort_exists().value());
  const auto checkpoint = java.load_checkpoint();
  ASSERT_TRUE(checkpoint && *checkpoint);
  EXPECT_EQ((*checkpoint)->physic_timestamp_ms, time);
  open();
  EXPECT_TRUE(log_->recovery_report().clean_stop);
  EXPECT_TRUE(java.abort_exists().value());
  EXPECT_THAT(bodies(), ElementsAre("m"));
}

TEST_F(CommitLogOpenTest, AfterCloseEverythingButOffsetsAndCountersIsShutdown) {
  open();
  const PhysicalOffset end = append("m").end;
  ASSERT_TRUE(log_->close({}));
  EXPECT_TRUE(log_->close({})) << "twice is once";
  ReadBatch batch;
  EXPECT_EQ(log_->append(message_of("m"), {}, {}).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->append_and_wait(message_of("m")).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->append_raw(end, bytes_of("m")).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->truncate(PhysicalOffset{0}).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->read(PhysicalOffset{0}, {}, batch).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->try_read(PhysicalOffset{0}, {}, batch).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->read_raw(PhysicalOffset{0}, 1).error().code(), ErrorCode::kShutdown);
  EXPECT_EQ(log_->flush().error().code(), ErrorCode::kShutdown);
  EXPECT_FALSE(log_->run_once());
  std::optional<ErrorCode> code;
  log_->read(PhysicalOffset{0}, {},
             [&code](const Result<ReadBatch>& result) { code = result.error().code(); });
  EXPECT_EQ(code, ErrorCode::kShutdown);
  EXPECT_EQ(log_->filled_offset(), end);
  EXPECT_EQ(log_->flushed_offset(), end);
  EXPECT_EQ(log_->counters().messages_appended, 1);
}

TEST_F(CommitLogOpenTest, CloseSyncsWhatWaitsForTheDiskAndEndsWhatWaitsForReplicas) {
  options_.replica_level = ReplicaLevel::kWritten;
  options_.replica_count = 1;
  open(FlushPolicy::kAsync);
  Outcome disk;
  Outcome replicas;
  submit("disk", kFromDisk, disk);
  submit("replicas", {}, replicas);
  ASSERT_TRUE(log_->close({}));
  EXPECT_EQ(disk.receipt().level.local, LocalLevel::kDisk);
  EXPECT_EQ(replicas.error(), ErrorCode::kShutdown);
  EXPECT_EQ(disk.calls + replicas.calls, 2);
}

TEST_F(CommitLogOpenTest, P4AFailedSyncEndsAppendsWithItsCauseForGood) {
  open(FlushPolicy::kSync);
  append("safe");
  disk_.fail_sync(1);
  const auto lost = log_->append_and_wait(message_of("lost"));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), ErrorCode::kStoreFailed);
  EXPECT_THAT(lost.error().text(), HasSubstr("fdatasync"));
  ASSERT_TRUE(log_->failure());

  for (int i = 0; i < 3; ++i) {  // later syncs would succeed
    EXPECT_EQ(log_->append_and_wait(message_of("more")).error().code(), ErrorCode::kStoreFailed);
    EXPECT_EQ(log_->flush().error().code(), ErrorCode::kStoreFailed);
    EXPECT_EQ(log_->truncate(PhysicalOffset{0}).error().code(), ErrorCode::kStoreFailed);
    run_until_idle();
  }
  EXPECT_EQ(log_->close({}).error().code(), ErrorCode::kStoreFailed);
  EXPECT_THAT(said(), HasSubstr("appends end here"));
}

TEST_F(CommitLogOpenTest, P4AFailureInAnAppendEndsThoseWhoWait) {
  open(FlushPolicy::kSync);
  Outcome waiting;
  submit("waiting", {}, waiting);
  const std::string body(8000, 'x');
  int refused = 0;
  // A failing step of preparation, met by an append itself.
  disk_.fail_sync(1);
  for (int i = 0; i < 200 && refused == 0; ++i) {
    refused += log_->append(message_of(body), kFromMemory, {}) ? 0 : 1;
  }
  ASSERT_GT(refused, 0);
  ASSERT_TRUE(log_->failure());
  run_until_idle();
  ASSERT_EQ(waiting.calls, 1);
  EXPECT_EQ(waiting.error(), ErrorCode::kStoreFailed);
}

TEST_F(CommitLogOpenTest, P4ALogFileThatLosesItsNameEndsAppendsBeforeTheNextAcknowledgement) {
  for (const bool renamed : {false, true}) {
    SCOPED_TRACE(renamed);
    options_.directory = renamed ? "/renamed" : "/removed";
    open(FlushPolicy::kSync);
    append("safe");
    const std::filesystem::path file = options_.directory / "commitlog/00000000000000000000";
    if (renamed) {
      ASSERT_TRUE(disk_.rename(file, options_.directory / "moved"));
    } else {
      ASSERT_TRUE(disk_.remove(file));
    }
    const auto lost = log_->append_and_wait(message_of("lost"));
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code(), ErrorCode::kStoreFailed);
    EXPECT_THAT(lost.error().text(), HasSubstr("00000000000000000000"));
    ASSERT_TRUE(log_->failure());
  }
}

TEST_F(CommitLogOpenTest, P4ANextFileThatAnotherProgramMadeEndsAppends) {
  open(FlushPolicy::kSync);
  append("safe");
  ASSERT_TRUE(
      disk_.open("/store/commitlog/00000000000000016384", {.mode = OpenOptions::Mode::kCreateNew}));
  const std::string body(9000, 'x');
  append(body);
  EXPECT_EQ(log_->append_and_wait(message_of(body)).error().code(), ErrorCode::kStoreFailed);
}

}  // namespace
}  // namespace kerolox::storage
