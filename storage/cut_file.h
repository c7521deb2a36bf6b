// Bytes that recovery or a truncation takes out of the log are saved before they are zeroed: in
// `kerolox/cut`. Bytes on disk: storage/FORMAT.md, section "Cut files".
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "storage/log_layout.h"

namespace kerolox::storage {

struct SavedCut {
  std::int64_t bytes = 0;      // that were not zero, and zeros between them
  std::filesystem::path path;  // empty if there was nothing to save
};

// Saves what is not zero in [from, to) of the log's files. When it returns, the file and its name
// are on disk. `cut_offset` and `wall_ms` make up its name. Errors: kNoSpace, kPermission,
// kIoError.
Result<SavedCut> save_cut(const std::filesystem::path& kerolox_directory, const LogLayout& layout,
                          PhysicalOffset from, PhysicalOffset to, std::int64_t wall_ms,
                          FileSystem& file_system);

struct CutStretch {
  PhysicalOffset offset;
  std::vector<std::byte> bytes;
};

// What such a file holds. Errors: kCorruption, kIoError.
Result<std::vector<CutStretch>> load_cut(const std::filesystem::path& path,
                                         FileSystem& file_system);

}  // namespace kerolox::storage
