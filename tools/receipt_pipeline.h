// Appends with a bounded number in flight, and prints a receipt for each message once its level is
// reached, in the order of the appends. A receipt that has been printed is one that was
// acknowledged: printing waits for nothing but the acknowledgements before it.
//
// Threads: put() and finish() belong to one thread; a thread of its own prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kerolox/base/mutex.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/commit_log.h"
#include "tools/json_lines.h"
#include "tools/output.h"

namespace kerolox::tools {

class ReceiptPipeline {
 public:
  // `log` and `output` must outlive it; nobody else uses `output` until finish().
  ReceiptPipeline(storage::CommitLog& log, const storage::Host& default_host,
                  std::size_t in_flight_max, Output& output);
  ~ReceiptPipeline();
  ReceiptPipeline(const ReceiptPipeline&) = delete;
  ReceiptPipeline& operator=(const ReceiptPipeline&) = delete;

  // Appends one message, or several as a batch that is stored whole. Waits while too many are in
  // flight. Errors: those of CommitLog::append(), also of an earlier append that failed later.
  Result<void> put(std::span<const storage::Message> messages);

  // Waits for everything in flight. Errors: the first append that failed after it was accepted; a
  // receipt that could not be printed.
  Result<void> finish();

  std::int64_t timed_out() const {
    return timed_out_;
  }  // after finish(): below the level asked for

 private:
  struct Slot {
    std::string topic;
    QueueId queue;
    storage::Host store_host;
    std::vector<storage::RecordPosition> positions;
    storage::Level level;
    bool timed_out = false;
    std::optional<Error> error;
    bool completed = false;  // guarded by mutex_; all else is the printer's once it is set
  };

  Result<void> await_free_slot() KEROLOX_EXCLUDES(mutex_);
  Result<storage::Ticket> append(std::span<const storage::Message> messages, Slot& slot);
  void complete(Slot& slot, const Result<storage::AppendReceipt>& receipt) KEROLOX_EXCLUDES(mutex_);
  void print_loop() KEROLOX_EXCLUDES(mutex_);
  std::int64_t await_printable() KEROLOX_EXCLUDES(mutex_);
  std::int64_t printable() const KEROLOX_REQUIRES(mutex_);
  Result<void> print(std::int64_t from, std::int64_t count);
  Result<void> print(const Slot& slot);
  Slot& slot_of(std::int64_t number) {
    return slots_[static_cast<std::size_t>(number) % slots_.size()];
  }

  storage::CommitLog& log_;
  storage::Host default_host_;
  Output& output_;
  JsonLine json_;
  std::vector<Slot> slots_;  // append number n is in slot n modulo their count
  std::int64_t timed_out_ = 0;

  Mutex mutex_;
  ConditionVariable changed_;
  std::int64_t accepted_ KEROLOX_GUARDED_BY(mutex_) = 0;
  std::int64_t printed_ KEROLOX_GUARDED_BY(mutex_) = 0;
  bool ending_ KEROLOX_GUARDED_BY(mutex_) = false;
  std::optional<Error> first_error_ KEROLOX_GUARDED_BY(mutex_);

  std::thread printer_;
};

}  // namespace kerolox::tools
