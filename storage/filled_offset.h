// filled_offset: the end of the gap-free prefix of finished copies.
//
// Appends reserve their bytes in order but finish copying in any order. Each takes a sequence
// number with its bytes and publishes it after the copy; whoever finds the next number finished
// moves the offset on, for others too. Nobody waits for anybody.
//
// Threads: reserve() and reset() inside the append's critical section; the rest anywhere.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "kerolox/base/types.h"

namespace kerolox::storage {

class FilledOffset {
 public:
  explicit FilledOffset(PhysicalOffset start);

  PhysicalOffset value() const {
    return PhysicalOffset{filled_.load(std::memory_order_acquire)};  // pairs with advance()
  }

  // Whether reserve() may be called twice, for a blank and a record: there are slots for both
  // beside those of the copies that are under way.
  bool has_room() const { return next_ - published_.load(std::memory_order_acquire) < kSlots - 1; }
  std::uint64_t reserve() { return next_++; }

  // The copy of `sequence`, which ends at `end`, is finished.
  void publish(std::uint64_t sequence, PhysicalOffset end);

  // All that was reserved has been published.
  bool idle() const { return next_ == published_.load(std::memory_order_acquire); }
  // Sets the offset; only while idle.
  void reset(PhysicalOffset offset);

 private:
  static constexpr std::uint64_t kSlots = 1024;
  struct Slot {
    std::atomic<std::uint64_t> finished{0};  // sequence + 1 of the copy that `end` belongs to
    std::int64_t end = 0;
  };
  void advance();

  std::uint64_t next_ = 0;
  std::unique_ptr<std::array<Slot, kSlots>> slots_;
  alignas(64) std::atomic<bool> advancing_{false};
  alignas(64) std::atomic<std::uint64_t> published_{0};
  std::atomic<std::int64_t> filled_;
};

}  // namespace kerolox::storage
