// What goes into an append and what comes out of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/level.h"

namespace kerolox::storage {

// Where one record went.
struct RecordPosition {
  PhysicalOffset offset;
  QueueOffset queue_offset;  // 0 for prepared and rollback records, which are in no queue
  std::int32_t record_bytes = 0;
};

// The acknowledgement of an append. `level` is never better than the truth (P2); where it does not
// satisfy what was asked for, the deadline passed first: the message is stored and may yet get
// there.
struct AppendReceipt {
  RecordPosition first;  // of a batch, its first record
  std::int32_t message_count = 1;
  PhysicalOffset end;  // one past the last byte
  std::int64_t store_timestamp_ms = 0;
  Level level;
  bool timed_out = false;
};

// Longer waits would overflow a deadline in nanoseconds, and mean "for ever" anyway.
inline constexpr std::chrono::milliseconds kWaitMax = std::chrono::hours(24 * 365);

struct AppendOptions {
  // Nothing: what the log's flush policy and replication demand, or memory alone for a message
  // whose property WAIT is "false".
  std::optional<Level> level{};
  // Below 0 counts as 0, above kWaitMax as that. Nothing: the log's sync_timeout, or
  // replica_timeout where replicas are waited for.
  std::optional<std::chrono::milliseconds> timeout{};
};

// Called once for an append that returned a value, with the receipt or with kStoreFailed, kShutdown
// or (after a truncation) kStaleEpoch. Runs on the log's flush thread, or on whichever thread
// drives the log, or inside append() itself; in batches. Must not block, must not call the log.
//
// Holds a small, trivially copyable callable in place, so that it never allocates:
//   Completion done([&counter](const Result<AppendReceipt>& receipt) { ... });
class Completion {
 public:
  static constexpr std::size_t kCallableBytesMax = 32;

  Completion() = default;

  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, Completion> &&
             std::is_invocable_v<const Callable&, const Result<AppendReceipt>&>)
  Completion(Callable callable)  // NOLINT(google-explicit-constructor): a lambda is a completion
      : invoke_([](const std::byte* stored, const Result<AppendReceipt>& receipt) {
          (*reinterpret_cast<const Callable*>(stored))(receipt);
        }) {
    static_assert(
        std::is_trivially_copyable_v<Callable> && std::is_trivially_destructible_v<Callable>,
        "capture references, pointers and numbers only");
    static_assert(sizeof(Callable) <= kCallableBytesMax, "capture less, or a pointer to it");
    std::memcpy(stored_, &callable, sizeof callable);
  }

  explicit operator bool() const { return invoke_ != nullptr; }
  void operator()(const Result<AppendReceipt>& receipt) const {
    if (invoke_ != nullptr) {
      invoke_(stored_, receipt);
    }
  }

 private:
  alignas(std::max_align_t) std::byte stored_[kCallableBytesMax] = {};
  void (*invoke_)(const std::byte* stored, const Result<AppendReceipt>& receipt) = nullptr;
};

// What append() knows when it returns.
struct Ticket {
  RecordPosition first;
  std::int32_t message_count = 1;
  PhysicalOffset end;
  std::int64_t store_timestamp_ms = 0;
  bool completed = false;  // its level was reached within the call and the completion has run
};

}  // namespace kerolox::storage
