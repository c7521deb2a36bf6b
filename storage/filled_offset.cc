#include "storage/filled_offset.h"

#include "kerolox/base/check.h"

namespace kerolox::storage {

FilledOffset::FilledOffset(PhysicalOffset start)
    : slots_(std::make_unique<std::array<Slot, kSlots>>()), filled_(start.value) {}

void FilledOffset::publish(std::uint64_t sequence, PhysicalOffset end) {
  Slot& slot = (*slots_)[sequence % kSlots];
  slot.end = end.value;
  slot.finished.store(sequence + 1);  // sequentially consistent, as all below: see advance()
  advance();
}

void FilledOffset::advance() {
  for (;;) {
    if (advancing_.exchange(true)) {
      // Somebody else is advancing. It looks at the next slot again after it has cleared the flag,
      // and our slot was finished before we looked at the flag: one of us sees the other.
      return;
    }
    std::uint64_t next = published_.load(std::memory_order_relaxed);
    while ((*slots_)[next % kSlots].finished.load() == next + 1) {
      filled_.store((*slots_)[next % kSlots].end, std::memory_order_release);  // pairs with value()
      ++next;
      published_.store(next, std::memory_order_release);  // pairs with has_room(): the slot is free
    }
    advancing_.store(false);
    if ((*slots_)[next % kSlots].finished.load() != next + 1) {
      return;
    }
  }
}

void FilledOffset::reset(PhysicalOffset offset) {
  KEROLOX_CHECK(idle());
  filled_.store(offset.value, std::memory_order_release);
}

}  // namespace kerolox::storage
