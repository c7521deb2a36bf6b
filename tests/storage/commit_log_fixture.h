// An open commit log without threads, on a disk and a clock that tests own.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kerolox/storage/commit_log.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"

namespace kerolox::storage {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Message message_of(std::string_view body, std::string_view topic = "orders",
                          std::int32_t queue = 0) {
  return {.topic = topic, .queue = QueueId{queue}, .body = bytes_of(body)};
}

// Where a completion puts its result.
struct Outcome {
  std::optional<Result<AppendReceipt>> result;
  int calls = 0;

  Completion completion() {
    return Completion([this](const Result<AppendReceipt>& receipt) {
      ++calls;
      result.emplace(receipt);
    });
  }
  bool done() const { return calls > 0; }
  const AppendReceipt& receipt() const { return result->value(); }
  ErrorCode error() const { return result->error().code(); }
};

inline std::int64_t number_of(const Error& error, std::string_view name) {
  for (const Error::Number& number : error.numbers()) {
    if (number.name == name) {
      return number.value;
    }
  }
  ADD_FAILURE() << "no number " << name << " in: " << error.text();
  return -1;
}

inline constexpr AppendOptions kFromMemory{.level = Level{}, .timeout = std::nullopt};
inline constexpr AppendOptions kFromDisk{.level = Level{.local = LocalLevel::kDisk},
                                         .timeout = std::nullopt};

class CommitLogFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t kFileBytes = 16384;

  CommitLogFixture() {
    options_.directory = "/store";
    options_.file_bytes = kFileBytes;
    options_.threads = false;
    options_.log = [this](Severity, std::string_view line) { said_.emplace_back(line); };
  }
  void TearDown() override {
    log_.reset();
    EXPECT_THAT(disk_.violations(), ::testing::IsEmpty());
  }

  Result<void> try_open() {
    log_.reset();
    auto opened = CommitLog::open(options_, disk_, clock_);
    if (!opened) {
      return opened.error();
    }
    log_ = *std::move(opened);
    return {};
  }
  void open() {
    const Result<void> opened = try_open();
    ASSERT_TRUE(opened) << opened.error().text();
  }
  void open(FlushPolicy policy) {
    options_.flush_policy = policy;
    open();
  }
  void close(const CloseOptions& how = {}) {
    const Result<void> closed = log_->close(how);
    EXPECT_TRUE(closed) << closed.error().text();
    log_.reset();
  }
  void reopen() {
    close();
    open();
  }
  // The process, or the machine, dies with the log open.
  void crash(CrashKind kind, std::uint64_t seed = 0) {
    disk_.crash(kind, seed);
    log_.reset();
  }

  AppendReceipt append(std::string_view body, const AppendOptions& options = {}) {
    return append(message_of(body), options);
  }
  AppendReceipt append(const Message& message, const AppendOptions& options = {}) {
    const Result<AppendReceipt> receipt = log_->append_and_wait(message, options);
    EXPECT_TRUE(receipt) << receipt.error().text();
    return receipt ? *receipt : AppendReceipt();
  }
  Ticket submit(std::string_view body, const AppendOptions& options, Outcome& outcome) {
    const Result<Ticket> ticket = log_->append(message_of(body), options, outcome.completion());
    EXPECT_TRUE(ticket) << ticket.error().text();
    return ticket ? *ticket : Ticket();
  }
  void run_until_idle() {
    for (int i = 0; i < 1000 && log_->run_once(); ++i) {
    }
  }

  ReadBatch read(PhysicalOffset offset, ReadOptions::Limit limit = ReadOptions::Limit::kFilled) {
    ReadBatch batch;
    const Result<void> done =
        log_->read(offset, {.count_max = 1000, .bytes_max = 1 << 24, .limit = limit}, batch);
    EXPECT_TRUE(done) << done.error().text();
    return batch;
  }
  std::string body_at(PhysicalOffset offset) {
    const ReadBatch batch = read(offset);
    return batch.empty() || batch.front().offset != offset ? "" : text_of(batch.front().body);
  }
  // Of all records from `offset`, or from the begin, to the limit.
  std::vector<std::string> bodies(ReadOptions::Limit limit = ReadOptions::Limit::kFilled) {
    std::vector<std::string> found;
    const PhysicalOffset end =
        limit == ReadOptions::Limit::kFilled ? log_->filled_offset() : log_->confirm_offset();
    for (PhysicalOffset at = log_->min_offset(); at < end;) {
      const ReadBatch batch = read(at, limit);
      for (const MessageView& message : batch) {
        found.push_back(text_of(message.body));
      }
      if (batch.next_offset() <= at) {
        break;  // the log ends inside a record
      }
      at = batch.next_offset();
    }
    return found;
  }

  std::filesystem::path log_file(PhysicalOffset offset) {
    std::string name = std::to_string(offset.value - offset.value % log_->file_bytes());
    return "/store/commitlog/" + std::string(20 - name.size(), '0') + name;
  }
  bool exists(const std::filesystem::path& path) { return disk_.status(path).has_value(); }
  std::string said() const {
    std::string all;
    for (const std::string& line : said_) {
      all += line + "\n";
    }
    return all;
  }

  CrashFileSystem disk_;
  ManualClock clock_;
  CommitLogOptions options_;
  std::vector<std::string> said_;
  std::unique_ptr<CommitLog> log_;
};

}  // namespace kerolox::storage
