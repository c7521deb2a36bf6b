#include "storage/ticket_board.h"

#include <algorithm>

#include "kerolox/base/check.h"

namespace kerolox::storage {
namespace {

constexpr std::size_t kBatch = 64;

}  // namespace

Level level_reached(PhysicalOffset end, const Watermarks& watermarks, std::int32_t replica_count) {
  Level level;
  level.local = watermarks.flushed >= end ? LocalLevel::kDisk : LocalLevel::kMemory;
  if (replica_count > 0 && watermarks.replicated_synced >= end) {
    level.replicas = ReplicaLevel::kSynced;
  } else if (replica_count > 0 && watermarks.replicated_written >= end) {
    level.replicas = ReplicaLevel::kWritten;
  }
  level.replica_count = level.replicas == ReplicaLevel::kNone ? 0 : replica_count;
  return level;
}

TicketBoard::TicketBoard(std::int32_t tickets_max, std::int32_t replica_count)
    : tickets_max_(tickets_max), replica_count_(replica_count) {}

std::size_t TicketBoard::kind_of(const Level& level) {
  return static_cast<std::size_t>(level.local) * 3 + static_cast<std::size_t>(level.replicas);
}

bool TicketBoard::claim() {
  if (claimed_.fetch_add(1) >= tickets_max_) {
    claimed_.fetch_sub(1);
    return false;
  }
  return true;
}

void TicketBoard::unclaim() { claimed_.fetch_sub(1); }

void TicketBoard::add(const Pending& pending) {
  MutexLock lock(mutex_);
  Node* node = free_;
  if (node != nullptr) {
    free_ = node->next;
  } else {
    node = &nodes_.emplace_back();
  }
  List& list = lists_[kind_of(pending.wanted)];
  node->pending = pending;
  node->next = nullptr;
  node->previous = list.last;
  (list.last == nullptr ? list.first : list.last->next) = node;
  list.last = node;
  if (pending.wanted == Level{}) {
    waiting_for_memory_.fetch_add(1);
  }
  if (pending.wanted.local == LocalLevel::kDisk) {
    disk_demand_.store(pending.receipt.end.value, std::memory_order_release);
  }
}

void TicketBoard::unlink(List& list, Node* node) {
  (node->previous == nullptr ? list.first : node->previous->next) = node->next;
  (node->next == nullptr ? list.last : node->next->previous) = node->previous;
}

template <typename Select>
std::size_t TicketBoard::take(const Select& select, bool whole_list, Node** batch) {
  std::size_t count = 0;
  for (List& list : lists_) {
    for (Node* node = list.first; node != nullptr && count < kBatch;) {
      Node* const next = node->next;
      if (select(node->pending)) {
        unlink(list, node);
        batch[count++] = node;
      } else if (!whole_list) {
        break;
      }
      node = next;
    }
  }
  return count;
}

template <typename Select, typename ResultOf>
std::int64_t TicketBoard::finish(const Select& select, bool whole_list, const ResultOf& result_of) {
  MutexLock finishing(finish_mutex_);
  std::int64_t finished = 0;
  for (;;) {
    Node* batch[kBatch];
    std::size_t count = 0;
    {
      MutexLock lock(mutex_);
      count = take(select, whole_list, batch);
    }
    if (count == 0) {
      return finished;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (batch[i]->pending.wanted == Level{}) {
        waiting_for_memory_.fetch_sub(1);
      }
      batch[i]->pending.done(result_of(batch[i]->pending));
    }
    {
      MutexLock lock(mutex_);
      for (std::size_t i = 0; i < count; ++i) {
        batch[i]->next = free_;
        free_ = batch[i];
      }
    }
    claimed_.fetch_sub(static_cast<std::int32_t>(count));
    finished += static_cast<std::int64_t>(count);
  }
}

std::int64_t TicketBoard::complete(const Watermarks& watermarks) {
  if (empty()) {
    return 0;
  }
  const auto reached = [&](const Pending& pending) {
    return watermarks.filled >= pending.receipt.end &&
           satisfies(level_reached(pending.receipt.end, watermarks, replica_count_),
                     pending.wanted);
  };
  return finish(reached, false, [&](const Pending& pending) {
    AppendReceipt receipt = pending.receipt;
    receipt.level = level_reached(receipt.end, watermarks, replica_count_);
    return Result<AppendReceipt>(receipt);
  });
}

std::int64_t TicketBoard::expire(MonotonicTime now, const Watermarks& watermarks) {
  if (empty()) {
    return 0;
  }
  // A message that is not even readable yet (another copy before it is unfinished) has reached
  // nothing: its ticket waits for that, which is a matter of microseconds.
  const auto overdue = [&](const Pending& pending) {
    return pending.deadline <= now && watermarks.filled >= pending.receipt.end;
  };
  return finish(overdue, true, [&](const Pending& pending) {
    AppendReceipt receipt = pending.receipt;
    receipt.level = level_reached(receipt.end, watermarks, replica_count_);
    receipt.timed_out = !satisfies(receipt.level, pending.wanted);
    return Result<AppendReceipt>(receipt);
  });
}

void TicketBoard::fail_above(PhysicalOffset offset, const Error& error) {
  finish([&](const Pending& pending) { return pending.receipt.end > offset; }, true,
         [&](const Pending&) { return Result<AppendReceipt>(error); });
}

std::optional<MonotonicTime> TicketBoard::next_deadline() {
  if (empty()) {
    return std::nullopt;
  }
  MutexLock lock(mutex_);
  std::optional<MonotonicTime> earliest;
  for (const List& list : lists_) {
    // All of them: time-outs are usually equal, but an append may bring its own.
    for (const Node* node = list.first; node != nullptr; node = node->next) {
      if (!earliest || node->pending.deadline < *earliest) {
        earliest = node->pending.deadline;
      }
    }
  }
  return earliest;
}

}  // namespace kerolox::storage
