// What a log should hold: a plain list of records, and what was acknowledged of them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kerolox/storage/commit_log.h"
#include "support/crash_file_system.h"

namespace kerolox::storage {

class LogModel {
 public:
  struct Record {
    PhysicalOffset offset;
    PhysicalOffset end;
    std::string body;
    std::int32_t queue = 0;
    std::int64_t queue_offset = 0;
    bool survives_kill = false;
    bool survives_power_cut = false;
  };

  void placed(const RecordPosition& position, std::string body, std::int32_t queue) {
    EXPECT_EQ(position.queue_offset.value, count(queue)) << "queue offsets are dense";
    if (!records_.empty()) {
      EXPECT_GE(position.offset, records_.back().end);
    }
    records_.push_back({.offset = position.offset,
                        .end = position.offset + position.record_bytes,
                        .body = std::move(body),
                        .queue = queue,
                        .queue_offset = position.queue_offset.value});
  }
  void acknowledged(const AppendReceipt& receipt) {
    for (Record& record : records_) {
      if (record.offset >= receipt.first.offset && record.end <= receipt.end) {
        record.survives_kill = true;
        record.survives_power_cut |= receipt.level.local == LocalLevel::kDisk;
      }
    }
  }
  // P3: somebody may have consumed everything below.
  void consumable(PhysicalOffset confirm_offset, FlushPolicy policy) {
    for (Record& record : records_) {
      if (record.end <= confirm_offset) {
        record.survives_kill = true;
        record.survives_power_cut |= policy == FlushPolicy::kSync;
      }
    }
  }
  void flushed() {
    for (Record& record : records_) {
      record.survives_kill = record.survives_power_cut = true;
    }
  }
  // Until it is ended, the log may be cut there or not.
  void begin_truncate(PhysicalOffset end) { cut_ = end; }
  void end_truncate() {
    std::erase_if(records_, [this](const Record& record) { return record.offset >= *cut_; });
    cut_.reset();
  }

  const std::vector<Record>& records() const { return records_; }
  // Those that the last crash took.
  const std::vector<Record>& lost() const { return lost_; }

  // Compares with a log that was just opened. `crash` says what happened before; nothing: it was
  // closed, or an error ended it. What is left is on disk from now on.
  void check_recovered(CommitLog& log, std::optional<CrashKind> crash) {
    const std::size_t kept = check_prefix(log);
    lost_.assign(records_.begin() + static_cast<std::ptrdiff_t>(kept), records_.end());
    const bool was_cut = cut_ && kept < records_.size() && records_[kept].offset == *cut_;
    for (const Record& record : lost_) {
      const bool promised =
          crash == CrashKind::kPowerCut ? record.survives_power_cut : record.survives_kill;
      EXPECT_FALSE(promised && !was_cut)
          << "an acknowledged record is lost: offset " << record.offset.value;
    }
    records_.resize(kept);
    cut_.reset();
    flushed();
    for (std::int32_t queue = 0; queue < kQueues; ++queue) {
      EXPECT_EQ(log.next_queue_offset("orders", QueueId{queue}).value, count(queue));
    }
    EXPECT_TRUE(log.recovery_report().damaged.empty());
    EXPECT_EQ(log.flushed_offset(), log.filled_offset());
  }
  // Compares with a log that is running.
  void check_running(CommitLog& log) { EXPECT_EQ(check_prefix(log), records_.size()); }

  static constexpr std::int32_t kQueues = 3;

 private:
  std::int64_t count(std::int32_t queue) const {
    return std::count_if(records_.begin(), records_.end(),
                         [queue](const Record& record) { return record.queue == queue; });
  }

  // P1: what the log holds is a prefix of what was appended. Returns its length.
  std::size_t check_prefix(CommitLog& log) {
    std::size_t index = 0;
    ReadBatch batch;
    for (PhysicalOffset at = log.min_offset(); at < log.filled_offset();) {
      const Result<void> read = log.read(
          at, {.count_max = 100, .bytes_max = 1 << 20, .limit = ReadOptions::Limit::kFilled},
          batch);
      EXPECT_TRUE(read) << read.error().text();
      if (!read) {
        return index;
      }
      EXPECT_TRUE(batch.damaged().empty()) << batch.damaged().front().fault;
      for (const MessageView& message : batch) {
        if (index == records_.size()) {
          ADD_FAILURE() << "a record that was never appended, or came back: offset "
                        << message.offset.value;
          return index;
        }
        const Record& expected = records_[index++];
        EXPECT_EQ(message.offset, expected.offset);
        EXPECT_EQ(message.queue.value, expected.queue);
        EXPECT_EQ(message.queue_offset.value, expected.queue_offset);
        EXPECT_EQ(
            std::string(reinterpret_cast<const char*>(message.body.data()), message.body.size()),
            expected.body);
      }
      if (batch.next_offset() <= at) {
        ADD_FAILURE() << "no way on from " << at.value;
        return index;
      }
      at = batch.next_offset();
    }
    return index;
  }

  std::vector<Record> records_;
  std::vector<Record> lost_;
  std::optional<PhysicalOffset> cut_;
};

}  // namespace kerolox::storage
