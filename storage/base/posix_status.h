// FileStatus from what the kernel says.
#pragma once

#include <sys/stat.h>

#include "kerolox/base/file_system.h"

namespace kerolox {

inline FileStatus file_status(const struct stat& status) {
  constexpr std::int64_t kBlockUnit = 512;  // st_blocks counts in these, whatever the block size
  return {.bytes = status.st_size,
          .allocated_bytes = status.st_blocks * kBlockUnit,
          .inode = status.st_ino,
          .device = status.st_dev,
          .link_count = static_cast<std::int64_t>(status.st_nlink),
          .directory = S_ISDIR(status.st_mode)};
}

}  // namespace kerolox
