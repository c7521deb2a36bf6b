// Copies and compares memory that another thread may be storing to, as the kernel does with the
// pages of a mapped file. ThreadSanitizer is told not to look: what it would report is the modelled
// machine, not the code under test.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_THREAD__)
#define KEROLOX_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define KEROLOX_TEST_TSAN 1
#endif
#endif

namespace kerolox {

#ifdef KEROLOX_TEST_TSAN
// volatile keeps the compiler from making a call of memcpy of it, which would be looked at.
__attribute__((no_sanitize("thread"), noinline)) inline void racy_copy(std::byte* to,
                                                                       const std::byte* from,
                                                                       std::size_t bytes) {
  volatile std::byte* const target = to;
  const volatile std::byte* const source = from;
  for (std::size_t i = 0; i < bytes; ++i) {
    target[i] = source[i];
  }
}

__attribute__((no_sanitize("thread"), noinline)) inline bool racy_equal(const std::byte* a,
                                                                        const std::byte* b,
                                                                        std::size_t bytes) {
  const volatile std::byte* const left = a;
  const volatile std::byte* const right = b;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (left[i] != right[i]) {
      return false;
    }
  }
  return true;
}
#else
inline void racy_copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}
inline bool racy_equal(const std::byte* a, const std::byte* b, std::size_t bytes) {
  return std::memcmp(a, b, bytes) == 0;
}
#endif

}  // namespace kerolox
