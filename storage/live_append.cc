// How messages enter an open log.
#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "storage/live_commit_log.h"

namespace kerolox::storage {
namespace {

// Encoders keep their buffers, so that steady use allocates nothing. One set a thread: they are
// scratch space and hold no state between calls.
std::vector<RecordEncoder>& encoders(std::size_t count) {
  thread_local std::vector<RecordEncoder> kept;
  if (kept.size() < count) {
    kept.resize(count);
  }
  return kept;
}

}  // namespace

RecordLimits LiveCommitLog::record_limits() const {
  return {.body_bytes_max = options_.body_bytes_max,
          .allow_long_topics = options_.allow_long_topics};
}

std::chrono::nanoseconds LiveCommitLog::timeout_of(const AppendOptions& options,
                                                   ReplicaLevel replicas) const {
  const std::chrono::milliseconds wanted = options.timeout.value_or(
      replicas == ReplicaLevel::kNone ? options_.sync_timeout : options_.replica_timeout);
  return std::clamp(wanted, std::chrono::milliseconds(0), kWaitMax);
}

Result<Appender::Demand> LiveCommitLog::demand_of(const AppendOptions& options, bool waits) const {
  Appender::Demand demand;
  if (options.level) {
    demand.level = *options.level;
  } else if (waits) {
    demand.level = {.local = options_.flush_policy == FlushPolicy::kSync ? LocalLevel::kDisk
                                                                         : LocalLevel::kMemory,
                    .replicas = options_.replica_level,
                    .replica_count = options_.replica_count};
  }
  const Level& level = demand.level;
  if (level.replica_count < 0 || level.replica_count > options_.replica_count ||
      (level.replicas == ReplicaLevel::kNone) != (level.replica_count == 0)) {
    return Error(ErrorCode::kInvalidArgument, "the level asks for replicas that the log has not")
        .with_number("replica_count", level.replica_count)
        .with_number("replicas_of_the_log", options_.replica_count)
        .with_remedy("ask for at most the log's replica_count, and for 0 with ReplicaLevel::kNone");
  }
  demand.timeout = timeout_of(options, level.replicas);
  return demand;
}

Result<Ticket> LiveCommitLog::append(const Message& message, const AppendOptions& options,
                                     Completion done) {
  return append_message(message, options, {.done = done});
}

Result<Ticket> LiveCommitLog::append_batch(std::span<const Message> messages,
                                           const AppendOptions& options, Completion done,
                                           std::span<RecordPosition> positions) {
  return append_messages(messages, options, {.done = done, .positions = positions});
}

Result<Ticket> LiveCommitLog::append_message(const Message& message, const AppendOptions& options,
                                             const Caller& caller) {
  RecordEncoder& encoder = encoders(1).front();
  KEROLOX_RETURN_IF_ERROR(
      encoder.prepare(message, options_.store_host, options_.record_crc, record_limits()));
  Appender::Item item{.encoder = &encoder,
                      .queue = {message.topic, message.queue},
                      .v2 = message.topic.size() > kTopicBytesMaxV1};
  return append_items(std::span(&item, 1), options, encoder.waits(), caller);
}

Result<Ticket> LiveCommitLog::append_messages(std::span<const Message> messages,
                                              const AppendOptions& options, const Caller& caller) {
  const std::span<RecordPosition> positions = caller.positions;
  if (messages.empty()) {
    return Error(ErrorCode::kInvalidArgument, "the batch is empty");
  }
  if (!positions.empty() && positions.size() != messages.size()) {
    return Error(ErrorCode::kInvalidArgument, "positions must be empty or one a message")
        .with_number("messages", static_cast<std::int64_t>(messages.size()))
        .with_number("positions", static_cast<std::int64_t>(positions.size()));
  }
  std::vector<RecordEncoder>& kept = encoders(messages.size());
  thread_local std::vector<Appender::Item> items;
  items.clear();
  bool waits = false;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const Result<void> prepared =
        kept[i].prepare(message, options_.store_host, options_.record_crc, record_limits());
    if (!prepared) {
      return prepared.error().at("message " + std::to_string(i) + " of the batch");
    }
    items.push_back({.encoder = &kept[i],
                     .queue = {message.topic, message.queue},
                     .v2 = message.topic.size() > kTopicBytesMaxV1});
    waits = waits || kept[i].waits();
  }
  return append_items(items, options, waits, caller);
}

Result<Ticket> LiveCommitLog::append_items(std::span<Appender::Item> items,
                                           const AppendOptions& options, bool waits,
                                           const Caller& caller) {
  KEROLOX_ASSIGN_OR_RETURN(Appender::Demand demand, demand_of(options, waits));
  demand.done = caller.done;
  Result<Ticket> appended = appender_.append(items, demand, caller.positions);
  if (!appended) {
    if (state_.failed()) {
      end_waits();
    }
    return appended;
  }
  Ticket ticket = *appended;
  if (demand.level == Level{}) {
    complete_from_memory(ticket, caller.done);
  }
  if (tickets_.waiting_for_memory()) {
    // Our copy may have been the one that a ticket for memory alone was waiting for.
    tickets_.complete(state_.watermarks());
  }
  messages_appended_.fetch_add(ticket.message_count, std::memory_order_relaxed);
  bytes_appended_.fetch_add(ticket.end - ticket.first.offset, std::memory_order_relaxed);
  wake_threads(ticket.end, demand.level.local == LocalLevel::kDisk && !caller.leads_the_sync);
  return ticket;
}

void LiveCommitLog::complete_from_memory(Ticket& ticket, const Completion& done) {
  AppendReceipt receipt{.first = ticket.first,
                        .message_count = ticket.message_count,
                        .end = ticket.end,
                        .store_timestamp_ms = ticket.store_timestamp_ms};
  if (state_.filled.value() < ticket.end && done && tickets_.claim()) {
    // Another thread's copy, before ours, is under way. Whoever fills the gap completes us; unless
    // it has looked at the board just before our ticket was on it, hence the second look.
    tickets_.add(
        {.receipt = receipt, .wanted = {}, .deadline = MonotonicTime::max(), .done = done});
    tickets_.complete(state_.watermarks());
    return;
  }
  while (state_.filled.value() < ticket.end) {
    std::this_thread::yield();
  }
  receipt.level = level_reached(ticket.end, state_.watermarks(), options_.replica_count);
  ticket.completed = true;
  done(receipt);
}

void LiveCommitLog::wake_threads(PhysicalOffset end, bool wants_sync) {
  if (!options_.threads) {
    return;
  }
  if (wants_sync || end - state_.flushed() >= options_.flush_bytes) {
    flush_wakeup_.notify();
  }
  if (end.value >= prepare_from_.load(std::memory_order_relaxed)) {
    maintain_wakeup_.notify();
  }
}

// Runs `append` with a completion of our own and waits for it, leading syncs where nobody else
// does.
template <typename Append>
Result<AppendReceipt> LiveCommitLog::wait_for(const AppendOptions& options, const Append& append) {
  struct Slot {
    std::optional<Result<AppendReceipt>> result;
    std::atomic<bool> done{false};
  } slot;
  const Completion completion([at = &slot](const Result<AppendReceipt>& receipt) {
    at->result.emplace(receipt);
    at->done.store(true, std::memory_order_release);  // the last touch: the waiter may be gone then
  });
  KEROLOX_RETURN_IF_ERROR(append(completion));
  const auto done = [&slot] { return slot.done.load(std::memory_order_acquire); };
  const ReplicaLevel replicas = options.level ? options.level->replicas : options_.replica_level;
  MonotonicTime deadline = clock_.monotonic() + timeout_of(options, replicas);
  while (!flush_->drive_until(done, deadline)) {
    expire_step();
    deadline = clock_.monotonic() + std::chrono::milliseconds(1);
  }
  return *std::move(slot.result);
}

Result<AppendReceipt> LiveCommitLog::append_and_wait(const Message& message,
                                                     const AppendOptions& options) {
  return wait_for(options, [&](const Completion& done) -> Result<void> {
    const Result<Ticket> ticket =
        append_message(message, options, {.done = done, .leads_the_sync = true});
    return ticket ? Result<void>() : ticket.error();
  });
}

Result<AppendReceipt> LiveCommitLog::append_batch_and_wait(std::span<const Message> messages,
                                                           const AppendOptions& options,
                                                           std::span<RecordPosition> positions) {
  return wait_for(options, [&](const Completion& done) -> Result<void> {
    const Result<Ticket> ticket = append_messages(
        messages, options, {.done = done, .positions = positions, .leads_the_sync = true});
    return ticket ? Result<void>() : ticket.error();
  });
}

Result<void> LiveCommitLog::append_raw(PhysicalOffset at, std::span<const std::byte> bytes) {
  Result<void> appended = appender_.append_raw(at, bytes);
  if (!appended) {
    if (state_.failed()) {
      end_waits();
    }
    return appended;
  }
  wake_threads(state_.filled.value(), false);
  return {};
}

}  // namespace kerolox::storage
