// Appends that wait for their level, and the pass that completes them.
//
// Tickets of one kind of level wait in the order of their offsets, so a pass looks only at the
// first of each kind: one sync completes all that it covers. Flush and replication know nothing of
// tickets; they move watermarks and call complete().
//
// Threads: any. add() must be called in the order of offsets (inside the append's critical
// section). Completions run one at a time, in order within a kind, without the board's lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

#include "kerolox/base/clock.h"
#include "kerolox/base/mutex.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/append.h"
#include "kerolox/storage/level.h"

namespace kerolox::storage {

// How far the log has got, as one consistent enough look: each is monotonic.
struct Watermarks {
  PhysicalOffset filled;
  PhysicalOffset flushed;
  PhysicalOffset replicated_written;
  PhysicalOffset replicated_synced;
};

// The level that everything below `end` has reached; `replica_count` replicas stand behind the
// replicated watermarks.
Level level_reached(PhysicalOffset end, const Watermarks& watermarks, std::int32_t replica_count);

class TicketBoard {
 public:
  struct Pending {
    AppendReceipt receipt;  // without the level
    Level wanted;
    MonotonicTime deadline{0};
    Completion done;
  };

  TicketBoard(std::int32_t tickets_max, std::int32_t replica_count);

  // Takes a place for one ticket; false: all are taken. Every claim is followed by add() or
  // unclaim().
  bool claim();
  void unclaim();
  void add(const Pending& pending);

  // Completes every ticket whose level the watermarks have reached. Returns how many.
  std::int64_t complete(const Watermarks& watermarks);
  // Completes, with the level really reached, every ticket whose deadline has passed.
  std::int64_t expire(MonotonicTime now, const Watermarks& watermarks);
  // Completes every ticket that ends above `offset` with `error`.
  void fail_above(PhysicalOffset offset, const Error& error);

  // The end of the last ticket that waits for the disk: somebody must sync up to there.
  PhysicalOffset disk_demand() const {
    return PhysicalOffset{disk_demand_.load(std::memory_order_acquire)};
  }
  // Whether a ticket for memory alone waits, behind a copy that is under way.
  bool waiting_for_memory() const { return waiting_for_memory_.load() > 0; }
  bool empty() const { return claimed_.load() == 0; }
  std::optional<MonotonicTime> next_deadline();

 private:
  struct Node {
    Pending pending;
    Node* previous = nullptr;
    Node* next = nullptr;
  };
  struct List {
    Node* first = nullptr;
    Node* last = nullptr;
  };

  static constexpr std::size_t kKinds = 6;  // local levels times replica levels
  static std::size_t kind_of(const Level& level);
  void unlink(List& list, Node* node) KEROLOX_REQUIRES(mutex_);
  // Moves up to a batch of nodes that `select` accepts out of the lists; stops a list at the first
  // that it rejects, unless `whole_list`.
  template <typename Select>
  std::size_t take(const Select& select, bool whole_list, Node** batch) KEROLOX_REQUIRES(mutex_);
  template <typename Select, typename ResultOf>
  std::int64_t finish(const Select& select, bool whole_list, const ResultOf& result_of);

  const std::int32_t tickets_max_;
  const std::int32_t replica_count_;
  std::atomic<std::int32_t> claimed_{0};
  std::atomic<std::int64_t> disk_demand_{0};
  std::atomic<std::int32_t> waiting_for_memory_{0};

  Mutex finish_mutex_;  // held while completions run: they come one at a time
  Mutex mutex_;
  std::array<List, kKinds> lists_ KEROLOX_GUARDED_BY(mutex_);
  std::deque<Node> nodes_ KEROLOX_GUARDED_BY(mutex_);  // grows to the most that ever waited at once
  Node* free_ KEROLOX_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace kerolox::storage
