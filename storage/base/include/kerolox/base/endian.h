// Big-endian integers at any address: every integer of RocketMQ's binary files.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>

namespace kerolox {

template <std::integral T>
T load_big_endian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (sizeof(T) == 2) {
    return static_cast<T>(__builtin_bswap16(static_cast<unsigned short>(value)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__builtin_bswap32(static_cast<unsigned int>(value)));
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(__builtin_bswap64(static_cast<unsigned long long>(value)));
  } else {
    static_assert(sizeof(T) == 1);
    return value;
  }
}

template <std::integral T>
void store_big_endian(std::byte* to, T value) {
  const T swapped = load_big_endian<T>(reinterpret_cast<const std::byte*>(&value));
  std::memcpy(to, &swapped, sizeof swapped);
}

}  // namespace kerolox
