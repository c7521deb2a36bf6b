// Many threads on one open log, with threads of its own, on the machine's file system.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/scratch_directory.h"
#include "kerolox/storage/commit_log.h"

namespace kerolox::storage {
namespace {

constexpr int kWriters = 8;
constexpr int kEach = 300;

class CommitLogThreadsTest : public ::testing::Test {
 protected:
  void open(FlushPolicy policy) {
    log_.reset();
    CommitLogOptions options;
    options.directory = scratch_.path() / "store";
    options.file_bytes = 64 << 10;
    options.flush_policy = policy;
    options.flush_interval = std::chrono::milliseconds(5);
    options.sync_timeout = std::chrono::minutes(2);  // a busy machine is no failure
    auto opened = CommitLog::open(options);
    ASSERT_TRUE(opened) << opened.error().text();
    log_ = *std::move(opened);
  }

  // Its body says who wrote it and which of theirs it is.
  void write(int writer) {
    for (int i = 0; i < kEach; ++i) {
      const std::string body =
          std::to_string(writer) + ":" + std::to_string(i) + std::string(200, '.');
      const Message message{
          .topic = "orders", .queue = QueueId{writer % 2}, .body = std::as_bytes(std::span(body))};
      if (i % 3 == 0) {
        const auto receipt = log_->append_and_wait(message);
        if (!receipt || receipt->timed_out) {
          ++failures_;
        } else {
          ++completed_;
        }
      } else {
        const auto ticket =
            log_->append(message, {}, Completion([this](const Result<AppendReceipt>& receipt) {
                           if (receipt && !receipt->timed_out) {
                             ++completed_;
                           } else {
                             ++failures_;
                           }
                         }));
        failures_ += ticket ? 0 : 1;
      }
    }
  }
  // Follows the tail until it has seen `count` records; they come once each and whole.
  void follow(int count) {
    PhysicalOffset at{0};
    std::map<int, std::int64_t> next;
    ReadBatch batch;
    for (int seen = 0; seen < count;) {
      const Result<void> read = log_->read(at, {.count_max = 64}, batch);
      if (!read || !batch.damaged().empty()) {
        ++failures_;
        return;
      }
      for (const MessageView& message : batch) {
        failures_ += message.queue_offset.value == next[message.queue.value]++ ? 0 : 1;
        ++seen;
      }
      at = batch.next_offset();
      if (batch.empty()) {
        std::this_thread::yield();
      }
    }
  }
  // Every message once, each writer's in its order, queue offsets dense.
  void expect_all(int writers) {
    std::map<int, int> written;
    std::map<int, std::int64_t> next;
    ReadBatch batch;
    for (PhysicalOffset at{0}; at < log_->filled_offset(); at = batch.next_offset()) {
      ASSERT_TRUE(log_->read(at, {.limit = ReadOptions::Limit::kFilled}, batch));
      for (const MessageView& message : batch) {
        const std::string body(reinterpret_cast<const char*>(message.body.data()),
                               message.body.size());
        const int writer = std::stoi(body);
        EXPECT_EQ(std::stoi(body.substr(body.find(':') + 1)), written[writer]++);
        EXPECT_EQ(message.queue_offset.value, next[message.queue.value]++);
      }
    }
    for (int writer = 0; writer < writers; ++writer) {
      EXPECT_EQ(written[writer], kEach);
    }
  }

  ScratchDirectory scratch_;
  std::atomic<int> failures_{0};
  std::atomic<int> completed_{0};
  std::unique_ptr<CommitLog> log_;
};

TEST_F(CommitLogThreadsTest, NothingIsLostOrDoubledWhileEightThreadsWriteAndTwoRead) {
  for (const FlushPolicy policy : {FlushPolicy::kSync, FlushPolicy::kAsync}) {
    SCOPED_TRACE(int(policy));
    std::filesystem::remove_all(scratch_.path() / "store");
    completed_ = 0;
    open(policy);
    std::vector<std::thread> threads;
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([this, writer] { write(writer); });
    }
    for (int reader = 0; reader < 2; ++reader) {
      threads.emplace_back([this] { follow(kWriters * kEach); });
    }
    threads.emplace_back([this] {
      PhysicalOffset last{0};
      for (int i = 0; i < 50; ++i) {
        failures_ += log_->flush() ? 0 : 1;
        log_->run_once();  // may be called beside the threads
        const PhysicalOffset confirmed = log_->confirm_offset();
        failures_ += confirmed >= last && confirmed <= log_->filled_offset() ? 0 : 1;
        last = confirmed;
      }
    });
    for (std::thread& thread : threads) {
      thread.join();
    }
    ASSERT_TRUE(log_->flush());
    expect_all(kWriters);
    ASSERT_TRUE(log_->close({}));
    EXPECT_EQ(failures_, 0);
    EXPECT_EQ(completed_, kWriters * kEach);
    open(policy);
    expect_all(kWriters);
    EXPECT_TRUE(log_->recovery_report().clean_stop);
    log_.reset();
  }
}

TEST_F(CommitLogThreadsTest, TruncationWaitsForCopiesAndEndsWhatItCuts) {
  open(FlushPolicy::kSync);
  const std::string body(500, 'x');
  const Message message{.topic = "orders", .body = std::as_bytes(std::span(body))};
  const auto kept = log_->append_and_wait(message);
  ASSERT_TRUE(kept);
  std::atomic<int> appended{0};
  std::atomic<int> ended{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      while (!stop) {
        const auto ticket =
            log_->append(message, {}, Completion([&ended](const Result<AppendReceipt>& receipt) {
                           // On disk, or cut away; nothing else.
                           if (receipt || receipt.error().code() == ErrorCode::kStaleEpoch) {
                             ++ended;
                           }
                         }));
        appended += ticket ? 1 : 0;
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const auto cut = log_->truncate(kept->end);
    EXPECT_TRUE(cut) << cut.error().text();
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& writer : writers) {
    writer.join();
  }
  ASSERT_TRUE(log_->flush());
  ASSERT_TRUE(log_->truncate(kept->end));
  const auto next = log_->append_and_wait(message);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->first.queue_offset, QueueOffset{1});
  ASSERT_TRUE(log_->close({}));
  EXPECT_EQ(ended, appended);
  open(FlushPolicy::kSync);
  EXPECT_EQ(log_->next_queue_offset("orders", QueueId{0}), QueueOffset{2});
}

TEST_F(CommitLogThreadsTest, ReadsByCallbackComeFromTheLogsOwnThread) {
  open(FlushPolicy::kAsync);
  const std::string body(20000, 'x');
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(log_->append({.topic = "orders", .body = std::as_bytes(std::span(body))}, {}, {}));
  }
  std::atomic<bool> done{false};
  std::atomic<bool> good{false};
  const std::thread::id caller = std::this_thread::get_id();
  log_->read(PhysicalOffset{0}, {.count_max = 1}, [&](const Result<ReadBatch>& batch) {
    good = batch && batch->size() == 1 && batch->front().body.size() == body.size() &&
           std::this_thread::get_id() != caller;
    done.store(true);
    done.notify_one();
  });
  done.wait(false);
  EXPECT_TRUE(good);
}

}  // namespace
}  // namespace kerolox::storage
