#include "tools/receipt_pipeline.h"

#include <algorithm>
#include <chrono>

namespace kerolox::tools {

using storage::AppendReceipt;
using storage::Message;
using storage::Ticket;

ReceiptPipeline::ReceiptPipeline(storage::CommitLog& log, const storage::Host& default_host,
                                 std::size_t in_flight_max, Output& output)
    : log_(log),
      default_host_(default_host),
      output_(output),
      slots_(in_flight_max),
      printer_([this] { print_loop(); }) {}

ReceiptPipeline::~ReceiptPipeline() { static_cast<void>(finish()); }

Result<void> ReceiptPipeline::await_free_slot() {
  const MutexLock lock(mutex_);
  while (accepted_ - printed_ == static_cast<std::int64_t>(slots_.size())) {
    changed_.wait(mutex_);
  }
  if (first_error_) {
    return *first_error_;
  }
  return {};
}

Result<Ticket> ReceiptPipeline::append(std::span<const Message> messages, Slot& slot) {
  const storage::Completion done(
      [this, &slot](const Result<AppendReceipt>& receipt) { complete(slot, receipt); });
  while (true) {
    Result<Ticket> ticket = messages.size() == 1
                                ? log_.append(messages.front(), {}, done)
                                : log_.append_batch(messages, {}, done, slot.positions);
    if (ticket || ticket.error().code() != ErrorCode::kBusy) {
      return ticket;
    }
    std::this_thread::sleep_for(
        std::max(ticket.error().retry_after(), std::chrono::milliseconds(1)));
  }
}

Result<void> ReceiptPipeline::put(std::span<const Message> messages) {
  KEROLOX_RETURN_IF_ERROR(await_free_slot());
  std::int64_t number = 0;
  {
    const MutexLock lock(mutex_);
    number = accepted_;
  }
  Slot& slot = slot_of(number);
  slot.topic = messages.front().topic;
  slot.queue = messages.front().queue;
  slot.store_host = messages.front().store_host.value_or(default_host_);
  slot.positions.assign(messages.size(), {});
  slot.error.reset();
  const Result<Ticket> ticket = append(messages, slot);
  if (!ticket) {
    return ticket.error();
  }
  // Only now may the printer look at the slot, though it may have been completed long ago.
  const MutexLock lock(mutex_);
  ++accepted_;
  changed_.notify_all();
  return {};
}

// Runs on a thread of the log, or inside append().
void ReceiptPipeline::complete(Slot& slot, const Result<AppendReceipt>& receipt) {
  if (receipt) {
    slot.level = receipt->level;
    slot.timed_out = receipt->timed_out;
    if (slot.positions.size() == 1) {
      slot.positions.front() = receipt->first;
    }
  } else {
    slot.error = receipt.error();
  }
  const MutexLock lock(mutex_);
  slot.completed = true;
  if (&slot == &slot_of(printed_)) {
    changed_.notify_all();
  }
}

std::int64_t ReceiptPipeline::printable() const {
  std::int64_t number = printed_;
  while (number < accepted_ && slots_[static_cast<std::size_t>(number) % slots_.size()].completed) {
    ++number;
  }
  return number - printed_;
}

// How many receipts are ready; none: everything has been printed and no more will come.
std::int64_t ReceiptPipeline::await_printable() {
  const MutexLock lock(mutex_);
  while (printable() == 0 && !(ending_ && printed_ == accepted_)) {
    changed_.wait(mutex_);
  }
  return printable();
}

void ReceiptPipeline::print_loop() {
  std::int64_t next = 0;
  while (const std::int64_t count = await_printable()) {
    const Result<void> printed = print(next, count);
    next += count;
    const MutexLock lock(mutex_);
    if (!printed && !first_error_) {
      first_error_ = printed.error();
    }
    for (; printed_ < next; ++printed_) {
      slot_of(printed_).completed = false;
    }
    changed_.notify_all();
  }
}

Result<void> ReceiptPipeline::print(std::int64_t from, std::int64_t count) {
  Result<void> first;
  for (std::int64_t number = from; number < from + count; ++number) {
    if (const Result<void> printed = print(slot_of(number)); !printed && first) {
      first = printed;
    }
  }
  const Result<void> flushed = output_.flush();
  return first ? flushed : first;
}

Result<void> ReceiptPipeline::print(const Slot& slot) {
  if (slot.error) {
    return *slot.error;
  }
  timed_out_ += slot.timed_out ? 1 : 0;
  for (const storage::RecordPosition& position : slot.positions) {
    output_.add(receipt_line({.topic = slot.topic,
                              .queue = slot.queue,
                              .position = position,
                              .store_host = slot.store_host,
                              .level = slot.level},
                             json_));
  }
  return {};
}

Result<void> ReceiptPipeline::finish() {
  if (printer_.joinable()) {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    printer_.join();
  }
  const MutexLock lock(mutex_);
  if (first_error_) {
    return *first_error_;
  }
  return {};
}

}  // namespace kerolox::tools
