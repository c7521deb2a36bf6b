#include "kerolox/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace kerolox {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "kerolox: check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace kerolox
