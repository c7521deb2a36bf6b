// The checksum of our own files: XXH3, 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kerolox::storage {

std::uint64_t xxh3_64(std::span<const std::byte> bytes);

}  // namespace kerolox::storage
