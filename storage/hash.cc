#include "storage/hash.h"

#include <xxhash.h>

namespace kerolox::storage {

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace kerolox::storage
