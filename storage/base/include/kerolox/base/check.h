// Checks of our own assumptions. A failed check is a programming error, never reachable from input:
// it prints where and what to standard error and aborts, since going on would write wrong bytes.
#pragma once

#include "kerolox/base/api.h"

namespace kerolox {

[[noreturn]] KEROLOX_API void check_failed(const char* condition, const char* file, int line);

}  // namespace kerolox

// Always on.
#define KEROLOX_CHECK(condition)                               \
  do {                                                         \
    if (!(condition)) [[unlikely]] {                           \
      ::kerolox::check_failed(#condition, __FILE__, __LINE__); \
    }                                                          \
  } while (false)

// Debug builds only: for hot loops.
#ifdef NDEBUG
#define KEROLOX_DCHECK(condition) static_cast<void>(sizeof((condition) ? 1 : 0))
#else
#define KEROLOX_DCHECK(condition) KEROLOX_CHECK(condition)
#endif
