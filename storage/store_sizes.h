// How large a store's queue and index files are: chosen when it is created, fixed from then on.
// Bytes on disk: storage/FORMAT.md, section "Sizes".
#pragma once

#include <cstdint>
#include <filesystem>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"

namespace kerolox::storage {

inline constexpr std::int64_t kQueueUnitBytes = 20;
inline constexpr std::int64_t kQueueFileBytesDefault = 300'000 * kQueueUnitBytes;
inline constexpr std::int64_t kIndexSlotsDefault = 5'000'000;

struct StoreSizes {
  std::int64_t queue_file_bytes = 0;  // 0: not known
  std::int64_t index_slots = 0;       // 0: not known

  friend bool operator==(const StoreSizes&, const StoreSizes&) = default;
};

// What the store in `directory` has: by its own files if there are any (Java's, too), else as
// recorded at its creation. Reads only. Errors: kCorruption (a record that is none; a file whose
// length cannot be), kPermission, kIoError.
Result<StoreSizes> find_store_sizes(const std::filesystem::path& directory,
                                    FileSystem& file_system);

// The same, for a store that is being opened for writing: `wanted` (0: the default, or what there
// is) is recorded, durably, where nothing is known yet. Errors: also kInvalidArgument if `wanted`
// is not what the store has, naming the value that opens it; kNoSpace.
Result<StoreSizes> settle_store_sizes(const std::filesystem::path& directory,
                                      const StoreSizes& wanted, FileSystem& file_system);

}  // namespace kerolox::storage
