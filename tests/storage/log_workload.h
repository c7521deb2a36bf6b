// A process that uses a log as a seed decides, and tells a model what it was told.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kerolox/storage/commit_log.h"
#include "storage/log_model.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"
#include "support/seeded_random.h"

namespace kerolox::storage {

class LogWorkload {
 public:
  static constexpr std::int64_t kFileBytes = 8192;

  // What the process was doing when the disk died.
  enum class Phase { kNone, kOpen, kAppend, kRoll, kFlush, kTruncate, kClose };

  LogWorkload(CrashFileSystem& disk, ManualClock& clock, LogModel& model, FlushPolicy policy,
              std::uint64_t seed)
      : disk_(disk), clock_(clock), model_(model), random_(seed) {
    options_.directory = "/store";
    options_.file_bytes = kFileBytes;
    options_.flush_policy = policy;
    options_.threads = false;
  }

  // Opens the log, then `steps` random operations; ends early when the disk dies or the log does.
  void run(int steps) {
    if (open()) {
      continue_for(steps);
    }
  }
  void continue_for(int steps) {
    for (int i = 0; i < steps && alive(); ++i) {
      step();
      if (alive()) {
        model_.consumable(log_->confirm_offset(), options_.flush_policy);
      }
    }
  }

  bool open() {
    begin(Phase::kOpen);
    Result<std::unique_ptr<CommitLog>> opened = CommitLog::open(options_, disk_, clock_);
    note(opened);
    if (opened) {
      log_ = *std::move(opened);
    }
    end();
    return log_ != nullptr && alive();
  }
  // Without a word, as a killed process.
  void vanish() { log_.reset(); }
  void close() {
    begin(Phase::kClose);
    if (log_ != nullptr) {
      note(log_->close({.derived_files_complete = random_.chance(1, 2)}));
      failed_ = log_->failure().has_value();
    }
    end();
    log_.reset();
  }

  void append(const std::string& body, std::int32_t queue, const AppendOptions& options) {
    begin(Phase::kAppend);
    const std::int64_t rolls = log_->counters().rolls;
    const Message message{
        .topic = "orders", .queue = QueueId{queue}, .body = std::as_bytes(std::span(body))};
    // The model must know the record before its acknowledgement.
    Pending pending{this, {}, false};
    const Result<Ticket> ticket = log_->append(message, options, pending.completion());
    note(ticket);
    if (ticket) {
      model_.placed(ticket->first, body, queue);
      pending.settle();
      drive(pending, options);
    } else {
      EXPECT_FALSE(pending.called);
    }
    end(log_->counters().rolls != rolls);
  }

  CommitLog& log() { return *log_; }
  Phase died_in() const { return died_in_; }
  const std::vector<Error>& errors() const { return errors_; }

 private:
  // An append that is under way.
  struct Pending {
    LogWorkload* owner;
    std::vector<AppendReceipt> early;  // before the model knew
    bool known;
    int calls = 0;
    bool called = false;

    Completion completion() {
      return Completion([this](const Result<AppendReceipt>& receipt) { take(receipt); });
    }
    void take(const Result<AppendReceipt>& receipt) {
      called = true;
      ++calls;
      if (!receipt) {
        owner->errors_.push_back(receipt.error());
      } else if (!owner->disk_.crash_point_reached()) {
        // What the dead are told counts for nothing.
        if (known) {
          owner->model_.acknowledged(*receipt);
        } else {
          early.push_back(*receipt);
        }
      }
    }
    void settle() {
      known = true;
      for (const AppendReceipt& receipt : early) {
        owner->model_.acknowledged(receipt);
      }
    }
  };

  bool alive() const { return log_ != nullptr && !disk_.crash_point_reached(); }
  void begin(Phase phase) { phase_ = phase; }
  void end(bool rolled = false) {
    if (disk_.crash_point_reached() && died_in_ == Phase::kNone) {
      died_in_ = rolled ? Phase::kRoll : phase_;
    }
  }
  template <typename T>
  void note(const Result<T>& result) {
    if (!result) {
      errors_.push_back(result.error());
    }
  }
  void drive(Pending& pending, const AppendOptions&) {
    for (int i = 0; i < 100 && !pending.called; ++i) {
      log_->run_once();
    }
    if (!pending.called) {
      clock_.advance(std::chrono::seconds(10));
      log_->run_once();
    }
    EXPECT_EQ(pending.calls, 1) << "a completion runs once";
  }

  std::string random_body() {
    std::string body(random_.below(1500), ' ');
    for (char& c : body) {
      c = static_cast<char>('a' + random_.below(26));
    }
    return body;
  }
  AppendOptions random_options() {
    switch (random_.below(3)) {
      case 0:
        return {.level = Level{}, .timeout = std::nullopt};
      case 1:
        return {.level = Level{.local = LocalLevel::kDisk}, .timeout = std::nullopt};
      default:
        return {};
    }
  }

  void step() {
    const std::uint64_t choice = random_.below(20);
    if (choice < 10) {
      append(random_body(), static_cast<std::int32_t>(random_.below(LogModel::kQueues)),
             random_options());
    } else if (choice < 12) {
      append_batch();
    } else if (choice < 14) {
      begin(Phase::kFlush);
      log_->run_once();
      end();
    } else if (choice < 16) {
      begin(Phase::kFlush);
      clock_.advance(std::chrono::milliseconds(1100));
      for (int i = 0; i < 20 && log_->run_once(); ++i) {
      }
      end();
    } else if (choice < 17) {
      begin(Phase::kFlush);
      const Result<void> flushed = log_->flush();
      note(flushed);
      if (flushed && alive()) {
        model_.flushed();
      }
      end();
    } else if (choice < 18) {
      truncate();
    } else {
      close();
      if (!disk_.crash_point_reached() && open() && failed_) {
        model_.check_recovered(*log_, std::nullopt);
      }
    }
  }

  void append_batch() {
    begin(Phase::kAppend);
    const std::int64_t rolls = log_->counters().rolls;
    std::array<std::string, 3> bodies{random_body(), random_body(), random_body()};
    std::array<Message, 3> messages;
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      messages[i] = {.topic = "orders",
                     .queue = QueueId{static_cast<std::int32_t>(i % LogModel::kQueues)},
                     .body = std::as_bytes(std::span(bodies[i]))};
    }
    std::array<RecordPosition, 3> positions;
    const AppendOptions options = random_options();
    Pending pending{this, {}, false};
    const Result<Ticket> ticket =
        log_->append_batch(messages, options, pending.completion(), positions);
    note(ticket);
    if (ticket) {
      for (std::size_t i = 0; i < bodies.size(); ++i) {
        model_.placed(positions[i], bodies[i], messages[i].queue.value);
      }
      pending.settle();
      drive(pending, options);
    }
    end(log_->counters().rolls != rolls);
  }

  void truncate() {
    const auto& records = model_.records();
    if (records.empty() || log_->failure()) {
      return;
    }
    begin(Phase::kTruncate);
    const PhysicalOffset to =
        records[records.size() - 1 - random_.below(std::min<std::size_t>(records.size(), 8))]
            .offset;
    model_.begin_truncate(to);
    const Result<void> cut = log_->truncate(to);
    note(cut);
    if (cut && alive()) {
      model_.end_truncate();
      model_.flushed();
    }
    end();
  }

  CrashFileSystem& disk_;
  ManualClock& clock_;
  LogModel& model_;
  SeededRandom random_;
  CommitLogOptions options_;
  std::unique_ptr<CommitLog> log_;
  Phase phase_ = Phase::kNone;
  Phase died_in_ = Phase::kNone;
  bool failed_ = false;  // the log that was closed last
  std::vector<Error> errors_;
};

}  // namespace kerolox::storage
