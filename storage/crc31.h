// CRC-32 over several pieces. What is stored is its low 31 bits: RocketMQ clears the top one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kerolox::storage {

inline constexpr std::uint32_t kCrc31Mask = 0x7FFFFFFF;

// The CRC-32 of what gave `crc` followed by `bytes`; begins with 0.
std::uint32_t crc32_continue(std::uint32_t crc, std::span<const std::byte> bytes);

}  // namespace kerolox::storage
