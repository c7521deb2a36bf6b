#include "storage/appender.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "kerolox/base/check.h"

namespace kerolox::storage {
namespace {

// How far the slow path prepares beyond what is needed, when the keep thread has fallen behind.
constexpr std::int64_t kInlinePrepareBytes = std::int64_t{256} << 10;

}  // namespace

Appender::Appender(LogState& state, LogFileQueue& files, TicketBoard& tickets,
                   CheckpointKeeper& keeper, const Clock& clock, bool record_crc, Start start,
                   const std::vector<NextQueueOffset>& queue_offsets)
    : state_(state),
      files_(files),
      tickets_(tickets),
      keeper_(keeper),
      clock_(clock),
      record_crc_(record_crc),
      reserved_(start.end),
      records_end_(start.end),
      last_record_(start.last_record),
      last_record_bytes_(start.last_record_bytes),
      last_store_timestamp_ms_(start.last_store_timestamp_ms),
      has_v2_records_(start.has_v2_records) {
  table_.load(queue_offsets);
}

Result<void> Appender::check_open() {
  if (state_.closed.load(std::memory_order_acquire)) {
    return shutdown_error();
  }
  if (state_.failed()) {
    return state_.refusal();
  }
  return {};
}

Result<void> Appender::make_writable(LogFile* file, PhysicalOffset end) {
  if (end > keeper_.written_limit()) {
    KEROLOX_RETURN_IF_ERROR(keeper_.raise_limit(end + kLimitStepBytes, own_begin_));
  }
  if (end - file->base() > file->prepared_bytes()) {
    const std::int64_t file_end = file->bytes();
    const std::int64_t wanted = std::min(end - file->base() + kInlinePrepareBytes, file_end);
    KEROLOX_RETURN_IF_ERROR(files_.prepare_active(file->base() + wanted));
  }
  return {};
}

Result<void> Appender::roll(LogFile* full) {
  if (full == nullptr) {
    return files_.roll(reserved_, state_.filled.value());
  }
  const std::int64_t position = reserved_ - full->base();
  const std::int64_t remaining = full->bytes() - position;
  const PhysicalOffset next_base = full->base() + full->bytes();
  if (remaining > 0) {
    KEROLOX_RETURN_IF_ERROR(make_writable(full, reserved_ + kBlankBytesMin));
  }
  KEROLOX_RETURN_IF_ERROR(files_.roll(next_base, state_.filled.value()));
  if (remaining > 0) {
    // From here on nothing can fail: the blank and the new file belong together.
    const std::uint64_t sequence = state_.filled.reserve();
    const std::array<std::byte, 8> blank = encode_blank(remaining);
    full->fill(position, blank);
    reserved_ = next_base;
    records_end_ = next_base;
    state_.set_records_end(records_end_);
    state_.filled.publish(sequence, next_base);
    full->publish(full->bytes());
  }
  return {};
}

Result<Appender::Place> Appender::place(std::int64_t bytes) {
  LogFile* file = files_.active();
  // A record must leave room for a blank behind it.
  if (file == nullptr || bytes + kBlankBytesMin > file->base() + file->bytes() - reserved_) {
    if (bytes + kBlankBytesMin > files_.file_bytes()) {
      return Error(ErrorCode::kInvalidArgument, "the records do not fit a log file")
          .with_number("bytes", bytes)
          .with_number("file_bytes", files_.file_bytes())
          .with_remedy("make them smaller, or use a store with larger log files");
    }
    KEROLOX_RETURN_IF_ERROR(roll(file));
    file = files_.active();
  }
  KEROLOX_RETURN_IF_ERROR(make_writable(file, reserved_ + bytes + kBlankBytesMin));
  return Place{.file = file, .position = reserved_ - file->base()};
}

// Records that fit nowhere, or not now, are refused and nothing has happened. Any other failure to
// find them a place may have lost log data, or what the disk was told of the log's reach: a retry
// that succeeds would hide that (P4).
Error Appender::end_if_final(const Error& cause) {
  if (cause.code() == ErrorCode::kNoSpace || cause.code() == ErrorCode::kInvalidArgument) {
    return cause;
  }
  state_.fail(cause);
  return state_.refusal();
}

Result<Ticket> Appender::append(std::span<Item> items, const Demand& demand,
                                std::span<RecordPosition> positions) {
  std::int64_t bytes = 0;
  for (const Item& item : items) {
    bytes += item.encoder->record_bytes();
  }
  const bool waits = demand.level != Level{};
  if (waits && !tickets_.claim()) {
    return Error(ErrorCode::kBusy, "too many appends wait for their level")
        .with_remedy("wait for completions before appending more, or raise tickets_max")
        .with_retry_after(std::chrono::milliseconds(1));
  }
  thread_local std::vector<RecordPosition> scratch;  // keeps its capacity
  if (positions.empty()) {
    scratch.resize(items.size());
    positions = scratch;
  }
  Ticket ticket;
  Place where;
  RecordPlace first;
  std::uint64_t sequence = 0;
  {
    MutexLock lock(mutex_);
    const auto refuse = [&](Error error) -> Result<Ticket> {
      if (waits) {
        tickets_.unclaim();
      }
      return error;
    };
    if (const Result<void> open = check_open(); !open) {
      return refuse(open.error());
    }
    if (reserved_ != records_end_) {
      return refuse(Error(ErrorCode::kInvalidArgument, "the log ends inside a record")
                        .with_number("record_begin", records_end_.value)
                        .with_number("log_end", reserved_.value)
                        .with_remedy("append its rest, or truncate to its begin"));
    }
    if (!state_.filled.has_room()) {
      return refuse(Error(ErrorCode::kBusy, "too many copies are under way")
                        .with_retry_after(std::chrono::milliseconds(1)));
    }
    if (record_crc_ && !own_begin_) {
      own_begin_ = reserved_;
    }
    const Result<Place> placed = place(bytes);
    if (!placed) {
      return refuse(end_if_final(placed.error()));
    }
    where = *placed;
    // Never backwards: time search and Java's recovery rely on it (P10: nothing else does).
    last_store_timestamp_ms_ = std::max(last_store_timestamp_ms_, clock_.wall_ms());
    first = {
        .offset = reserved_, .queue_offset = {}, .store_timestamp_ms = last_store_timestamp_ms_};
    PhysicalOffset at = reserved_;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const Item& item = items[i];
      positions[i] = {.offset = at,
                      .queue_offset = item.encoder->takes_queue_offset() ? table_.take(item.queue)
                                                                         : QueueOffset{0},
                      .record_bytes = static_cast<std::int32_t>(item.encoder->record_bytes())};
      has_v2_records_ = has_v2_records_ || item.v2;
      at = at + item.encoder->record_bytes();
    }
    last_record_ = positions[items.size() - 1].offset;
    last_record_bytes_ = positions[items.size() - 1].record_bytes;
    reserved_ = at;
    records_end_ = at;
    state_.set_records_end(at);
    sequence = state_.filled.reserve();
    ticket = {.first = positions[0],
              .message_count = static_cast<std::int32_t>(items.size()),
              .end = at,
              .store_timestamp_ms = first.store_timestamp_ms};
    if (waits) {
      tickets_.add({.receipt = {.first = ticket.first,
                                .message_count = ticket.message_count,
                                .end = ticket.end,
                                .store_timestamp_ms = ticket.store_timestamp_ms},
                    .wanted = demand.level,
                    .deadline = clock_.monotonic() + demand.timeout,
                    .done = demand.done});
    }
  }
  copy(items, *where.file, where.position, positions.data(), first);
  // The file first: once our copy counts as finished, a truncation may take the file away.
  where.file->publish(where.position + bytes);
  state_.filled.publish(sequence, ticket.end);
  if (waits && state_.failed()) {
    // The failure may have passed over the board before our ticket was on it.
    tickets_.fail_above(state_.flushed(), state_.refusal());
  }
  return ticket;
}

void Appender::copy(std::span<Item> items, LogFile& file, std::int64_t position,
                    RecordPosition* positions, const RecordPlace& first) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto pieces = items[i].encoder->finish({.offset = positions[i].offset,
                                                  .queue_offset = positions[i].queue_offset,
                                                  .store_timestamp_ms = first.store_timestamp_ms});
    for (const std::span<const std::byte> piece : pieces) {
      file.fill(position, piece);
      position += static_cast<std::int64_t>(piece.size());
    }
  }
}

void Appender::wait_until_idle() {
  // Copies end without the lock, in microseconds.
  while (!state_.filled.idle()) {
    std::this_thread::yield();
  }
}

LogSnapshot Appender::snapshot_locked() {
  LogSnapshot snapshot{.min_offset = files_.empty() ? records_end_ : files_.min_offset(),
                       .end = records_end_,
                       .written_end = reserved_,
                       .last_record = last_record_,
                       .last_record_bytes = last_record_bytes_,
                       .last_store_timestamp_ms = last_store_timestamp_ms_,
                       .has_v2_records = has_v2_records_,
                       .own_begin = own_begin_,
                       .changes = {}};
  if (last_record_ + last_record_bytes_ != records_end_) {
    snapshot.last_record =
        PhysicalOffset{-1};  // a blank ends there: the file's begin speaks for itself
  }
  table_.take_changes(snapshot.changes);
  return snapshot;
}

LogSnapshot Appender::snapshot() {
  MutexLock lock(mutex_);
  return snapshot_locked();
}

void Appender::give_back(const LogSnapshot& snapshot) {
  MutexLock lock(mutex_);
  table_.give_back(snapshot.changes);
}

PhysicalOffset Appender::reserved() {
  MutexLock lock(mutex_);
  return reserved_;
}

std::int64_t Appender::last_store_timestamp_ms() {
  MutexLock lock(mutex_);
  return last_store_timestamp_ms_;
}

QueueOffset Appender::next_queue_offset(std::string_view topic, QueueId queue) {
  const QueueOffsetTable::Key key(topic, queue);
  MutexLock lock(mutex_);
  return table_.next(key);
}

void Appender::close() {
  MutexLock lock(mutex_);
  state_.closed.store(true, std::memory_order_release);
  wait_until_idle();
}

Result<void> Appender::truncate(const PlanCut& plan, const PerformCut& perform) {
  MutexLock lock(mutex_);
  KEROLOX_RETURN_IF_ERROR(check_open());
  wait_until_idle();
  std::vector<std::pair<std::string, NextQueueOffset>> lowered;
  KEROLOX_ASSIGN_OR_RETURN(
      const CutPlan cut, plan(records_end_, [&](const MessageView& record) {
        if (sys_flag::takes_queue_offset(record.sys_flag)) {
          lowered.push_back({std::string(record.topic),
                             {.topic = {}, .queue = record.queue, .next = record.queue_offset}});
        }
      }));
  for (const auto& [topic, next] : lowered) {
    table_.lower(QueueOffsetTable::Key(topic, next.queue), next.next);
  }
  reserved_ = cut.end;
  records_end_ = cut.end;
  last_record_ = cut.last_record;
  last_record_bytes_ = cut.last_record_bytes;
  if (own_begin_ && *own_begin_ >= cut.end) {
    own_begin_.reset();
  }
  const Result<void> performed = perform(snapshot_locked());
  if (!performed) {
    state_.fail(performed.error());
  }
  return performed;
}

}  // namespace kerolox::storage
