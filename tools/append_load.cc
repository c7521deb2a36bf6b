#include "tools/append_load.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <thread>

#include "kerolox/base/mutex.h"

namespace kerolox::tools {
namespace {

using storage::AppendReceipt;
using storage::CommitLog;
using storage::Message;
using storage::Ticket;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// One append in flight. The acknowledging thread fills it and then sets `state`.
struct Slot {
  enum State : int { kFree, kWaiting, kAcknowledged, kTimedOut, kFailed };
  std::int64_t begun_ns = 0;
  std::int64_t ended_ns = 0;
  std::optional<Error> error;
  std::atomic<int> state{kFree};
};

class Producer {
 public:
  Producer(CommitLog& log, const AppendLoadOptions& options, int number, std::int64_t messages,
           std::int64_t deadline_ns)
      : log_(log),
        messages_(messages),
        deadline_ns_(deadline_ns),
        body_(options.message_bytes, std::byte{'k'}),
        slots_(static_cast<std::size_t>(options.in_flight)) {
    message_.topic = options.topic;
    message_.queue = QueueId{number};
    message_.body = body_;
    // Bytes that do not compress, for disks that would.
    std::uint64_t state = 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(number);
    for (std::byte& byte : body_) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      byte = static_cast<std::byte>(state >> 56);
    }
  }

  void run() { slots_.size() == 1 ? run_waiting() : run_pipelined(); }

  const std::atomic<std::int64_t>& appended() const { return appended_; }
  std::int64_t ended_ns() const { return ended_ns_; }
  std::int64_t timed_out() const { return timed_out_; }
  const std::optional<Error>& error() const { return error_; }
  const LatencyHistogram& latencies() const { return latencies_; }

 private:
  bool due(std::int64_t now) const { return now >= deadline_ns_ || error_.has_value(); }
  void count_one() {
    appended_.store(appended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void run_waiting();
  void run_pipelined();
  bool append(Slot& slot);
  void harvest(Slot& slot);

  CommitLog& log_;
  std::int64_t messages_;
  std::int64_t deadline_ns_;
  std::vector<std::byte> body_;
  Message message_;
  std::vector<Slot> slots_;
  std::atomic<std::int64_t> appended_{0};
  std::int64_t ended_ns_ = 0;
  std::int64_t timed_out_ = 0;
  std::optional<Error> error_;
  LatencyHistogram latencies_;
};

void Producer::run_waiting() {
  std::int64_t begun = now_ns();
  for (std::int64_t i = 0; i < messages_ && !due(begun); ++i) {
    const Result<AppendReceipt> receipt = log_.append_and_wait(message_);
    const std::int64_t ended = now_ns();
    if (!receipt) {
      error_ = receipt.error();
      break;
    }
    latencies_.record(ended - begun);
    timed_out_ += receipt->timed_out ? 1 : 0;
    count_one();
    begun = ended;  // what lies between is this loop
  }
  ended_ns_ = begun;
}

// False on an error, which ends the producer.
bool Producer::append(Slot& slot) {
  slot.state.store(Slot::kWaiting, std::memory_order_relaxed);
  slot.begun_ns = now_ns();
  while (true) {
    const Result<Ticket> ticket =
        log_.append(message_, {}, [&slot](const Result<AppendReceipt>& receipt) {
          slot.ended_ns = now_ns();
          if (!receipt) {
            slot.error = receipt.error();
          }
          slot.state.store(!receipt             ? Slot::kFailed
                           : receipt->timed_out ? Slot::kTimedOut
                                                : Slot::kAcknowledged,
                           std::memory_order_release);  // pairs with the acquire in harvest()
          slot.state.notify_one();
        });
    if (ticket) {
      count_one();
      return true;
    }
    if (ticket.error().code() != ErrorCode::kBusy) {
      error_ = ticket.error();
      slot.state.store(Slot::kFree, std::memory_order_relaxed);
      return false;
    }
    std::this_thread::sleep_for(
        std::max(ticket.error().retry_after(), std::chrono::milliseconds(1)));
  }
}

// Waits for the slot's acknowledgement, if it has one coming, and counts it.
void Producer::harvest(Slot& slot) {
  int state = slot.state.load(std::memory_order_acquire);
  while (state == Slot::kWaiting) {
    slot.state.wait(Slot::kWaiting, std::memory_order_acquire);
    state = slot.state.load(std::memory_order_acquire);
  }
  if (state == Slot::kFree) {
    return;
  }
  if (state == Slot::kFailed) {
    error_ = error_ ? error_ : slot.error;
  } else {
    latencies_.record(slot.ended_ns - slot.begun_ns);
    timed_out_ += state == Slot::kTimedOut ? 1 : 0;
    ended_ns_ = std::max(ended_ns_, slot.ended_ns);
  }
  slot.state.store(Slot::kFree, std::memory_order_relaxed);
}

void Producer::run_pipelined() {
  std::size_t at = 0;
  for (std::int64_t i = 0; i < messages_; ++i) {
    harvest(slots_[at]);
    if (due(ended_ns_) || !append(slots_[at])) {
      break;
    }
    at = at + 1 == slots_.size() ? 0 : at + 1;
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    harvest(slots_[at]);
    at = at + 1 == slots_.size() ? 0 : at + 1;
  }
}

// Calls `watch` now and then until every producer has ended.
class Watcher {
 public:
  explicit Watcher(int running) : running_(running) {}

  void ended() {
    const MutexLock lock(mutex_);
    --running_;
    changed_.notify_one();
  }
  // False: all have ended.
  bool wait() {
    const MutexLock lock(mutex_);
    if (running_ > 0) {
      static_cast<void>(changed_.wait_for(mutex_, std::chrono::milliseconds(100)));
    }
    return running_ > 0;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int running_ KEROLOX_GUARDED_BY(mutex_);
};

Result<AppendLoadResult> sum_up(const std::vector<std::unique_ptr<Producer>>& producers,
                                std::int64_t begun_ns) {
  AppendLoadResult result;
  std::int64_t ended_ns = begun_ns;
  for (const auto& producer : producers) {
    if (producer->error()) {
      return *producer->error();
    }
    result.latencies.merge(producer->latencies());
    result.timed_out += producer->timed_out();
    ended_ns = std::max(ended_ns, producer->ended_ns());
  }
  result.messages = result.latencies.count();
  result.seconds = static_cast<double>(ended_ns - begun_ns) / 1e9;
  return result;
}

}  // namespace

Result<AppendLoadResult> run_append_load(CommitLog& log, const AppendLoadOptions& options,
                                         const std::function<void(std::int64_t)>& watch) {
  const std::int64_t begun_ns = now_ns();
  const std::int64_t deadline_ns =
      options.seconds_max > 0 ? begun_ns + static_cast<std::int64_t>(options.seconds_max * 1e9)
                              : std::numeric_limits<std::int64_t>::max();
  std::vector<std::unique_ptr<Producer>> producers;
  for (int i = 0; i < options.threads; ++i) {
    const std::int64_t share =
        options.messages / options.threads + (i < options.messages % options.threads ? 1 : 0);
    producers.push_back(std::make_unique<Producer>(log, options, i, share, deadline_ns));
  }
  Watcher watcher(options.threads);
  std::vector<std::thread> threads;
  threads.reserve(producers.size());
  for (const auto& producer : producers) {
    threads.emplace_back([&producer, &watcher] {
      producer->run();
      watcher.ended();
    });
  }
  while (watcher.wait()) {
    std::int64_t appended = 0;
    for (const auto& producer : producers) {
      appended += producer->appended().load(std::memory_order_relaxed);
    }
    watch(appended);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return sum_up(producers, begun_ns);
}

}  // namespace kerolox::tools
