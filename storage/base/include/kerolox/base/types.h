// Positions and numbers that must not be mixed up: each is a type of its own, converts only
// explicitly, and carries its number in `value`.
#pragma once

#include <compare>
#include <cstdint>

namespace kerolox {

// A byte position in the commit log, counted over the whole history of the log.
struct PhysicalOffset {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(PhysicalOffset, PhysicalOffset) = default;
};

// The index of a message in its queue; the first message of a queue has index 0.
struct QueueOffset {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(QueueOffset, QueueOffset) = default;
};

// The number of a queue within its topic.
struct QueueId {
  std::int32_t value = 0;
  friend constexpr auto operator<=>(QueueId, QueueId) = default;
};

// The reign of one master.
struct Epoch {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(Epoch, Epoch) = default;
};

constexpr PhysicalOffset operator+(PhysicalOffset offset, std::int64_t bytes) {
  return PhysicalOffset{offset.value + bytes};
}
constexpr PhysicalOffset operator-(PhysicalOffset offset, std::int64_t bytes) {
  return PhysicalOffset{offset.value - bytes};
}
// The distance in bytes from `from` to `to`.
constexpr std::int64_t operator-(PhysicalOffset to, PhysicalOffset from) {
  return to.value - from.value;
}

}  // namespace kerolox
