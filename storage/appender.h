// The append's critical section: it assigns places and offsets and reserves bytes, nothing more.
// Encoding happens before it, copying behind it.
//
// Threads: any. Lock order: the appender's, then the file queue's and the keeper's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "kerolox/base/clock.h"
#include "kerolox/base/mutex.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/append.h"
#include "kerolox/storage/record.h"
#include "storage/checkpoint_keeper.h"
#include "storage/log_file_queue.h"
#include "storage/log_state.h"
#include "storage/queue_offset_table.h"
#include "storage/ticket_board.h"

namespace kerolox::storage {

class Appender {
 public:
  // The end of a log as recovery left it, with the table loaded.
  struct Start {
    PhysicalOffset end;
    PhysicalOffset last_record{-1};
    std::int32_t last_record_bytes = 0;
    std::int64_t last_store_timestamp_ms = 0;
    bool has_v2_records = false;
  };

  Appender(LogState& state, LogFileQueue& files, TicketBoard& tickets, CheckpointKeeper& keeper,
           const Clock& clock, bool record_crc, Start start,
           const std::vector<NextQueueOffset>& queue_offsets);

  // A record that has been prepared, and the queue that it goes to.
  struct Item {
    RecordEncoder* encoder = nullptr;
    QueueOffsetTable::Key queue;
    bool v2 = false;
  };
  struct Demand {
    Level level;
    std::chrono::nanoseconds timeout{0};
    Completion done;
  };

  // Places `items` side by side and copies them in. `done` is registered with the board if the
  // level is more than memory; otherwise the caller sees to it. Errors: kBusy, kNoSpace,
  // kStoreFailed, kShutdown.
  Result<Ticket> append(std::span<Item> items, const Demand& demand,
                        std::span<RecordPosition> positions);

  // As CommitLog::append_raw().
  Result<void> append_raw(PhysicalOffset at, std::span<const std::byte> bytes);

  // For the next checkpoint. It hands out what has changed since the last one, so it must be saved
  // or given back.
  LogSnapshot snapshot();
  void give_back(const LogSnapshot& snapshot);
  PhysicalOffset reserved();
  std::int64_t last_store_timestamp_ms();
  QueueOffset next_queue_offset(std::string_view topic, QueueId queue);

  // Runs `cut` with appends kept out and no copy under way; the snapshot that it gets is what the
  // log will be, with the queue offsets of `cut_records` taken back. If `cut` fails the store has
  // failed.
  struct CutPlan {
    PhysicalOffset end;
    PhysicalOffset last_record{-1};
    std::int32_t last_record_bytes = 0;
  };
  // Called with the log's end, inside; returns the plan, and tells each record that goes.
  using PlanCut = std::function<Result<CutPlan>(
      PhysicalOffset records_end, const std::function<void(const MessageView&)>& record_goes)>;
  using PerformCut = std::function<Result<void>(const LogSnapshot& snapshot)>;
  Result<void> truncate(const PlanCut& plan, const PerformCut& perform);

  // Keeps new appends out for good, and waits until no copy is under way.
  void close();

 private:
  struct Place {
    LogFile* file = nullptr;
    std::int64_t position = 0;
  };
  Result<void> check_open() KEROLOX_REQUIRES(mutex_);
  // Where `bytes` go: in the active file, or behind a roll. Makes sure that they may be written.
  Result<Place> place(std::int64_t bytes) KEROLOX_REQUIRES(mutex_);
  Result<void> roll(LogFile* full) KEROLOX_REQUIRES(mutex_);
  Error end_if_final(const Error& cause);
  // The slow path: blocks and the recorded limit for everything below `end`.
  Result<void> make_writable(LogFile* file, PhysicalOffset end) KEROLOX_REQUIRES(mutex_);
  void wait_until_idle() KEROLOX_REQUIRES(mutex_);
  LogSnapshot snapshot_locked() KEROLOX_REQUIRES(mutex_);
  void copy(std::span<Item> items, LogFile& file, std::int64_t position, RecordPosition* positions,
            const RecordPlace& first);

  struct RawRecords;
  Result<RawRecords> check_raw(std::span<const std::byte> bytes) KEROLOX_REQUIRES(mutex_);
  Result<void> begin_log(std::span<const std::byte> bytes) KEROLOX_REQUIRES(mutex_);
  // Where an empty log begins.
  void restart_at(PhysicalOffset offset) KEROLOX_REQUIRES(mutex_);
  // `bytes` end in the file in which they begin.
  Result<void> append_raw_in_file(std::span<const std::byte> bytes) KEROLOX_REQUIRES(mutex_);

  LogState& state_;
  LogFileQueue& files_;
  TicketBoard& tickets_;
  CheckpointKeeper& keeper_;
  const Clock& clock_;
  const bool record_crc_;

  Mutex mutex_;
  PhysicalOffset reserved_ KEROLOX_GUARDED_BY(mutex_);
  PhysicalOffset records_end_
      KEROLOX_GUARDED_BY(mutex_);  // of whole records; behind it a part of one
  PhysicalOffset last_record_ KEROLOX_GUARDED_BY(mutex_);
  std::int32_t last_record_bytes_ KEROLOX_GUARDED_BY(mutex_);
  std::int64_t last_store_timestamp_ms_ KEROLOX_GUARDED_BY(mutex_);
  bool has_v2_records_ KEROLOX_GUARDED_BY(mutex_);
  std::optional<PhysicalOffset> own_begin_ KEROLOX_GUARDED_BY(mutex_);
  QueueOffsetTable table_ KEROLOX_GUARDED_BY(mutex_);
};

}  // namespace kerolox::storage
