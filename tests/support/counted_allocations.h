// Counts what a program allocates. It replaces operator new, so that a test that includes it is a
// program of its own, with this header in one source.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace kerolox {

inline std::atomic<long> allocations{0};
inline std::atomic<std::size_t> largest_allocation{0};  // bytes; set it to 0 before what counts

inline void count_allocation(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  std::size_t largest = largest_allocation.load(std::memory_order_relaxed);
  while (bytes > largest && !largest_allocation.compare_exchange_weak(largest, bytes)) {
  }
}

}  // namespace kerolox

// NOLINTBEGIN(misc-definitions-in-headers): replacements must not be inline
// Not inlined by the compiler either: g++ would see free() and operator new meet, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  kerolox::count_allocation(bytes);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) {
    return memory;
  }
  std::abort();
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  kerolox::count_allocation(bytes);
  const auto align = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(align, (bytes + align - 1) / align * align)) {
    return memory;
  }
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
// NOLINTEND(misc-definitions-in-headers)
