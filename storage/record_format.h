// Where the fields of a record stand. Bytes on disk: storage/FORMAT.md, section "Record".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace kerolox::storage::record_format {

inline constexpr std::size_t kTotalSizeAt = 0;
inline constexpr std::size_t kMagicAt = 4;
inline constexpr std::size_t kBodyCrcAt = 8;
inline constexpr std::size_t kQueueIdAt = 12;
inline constexpr std::size_t kFlagAt = 16;
inline constexpr std::size_t kQueueOffsetAt = 20;
inline constexpr std::size_t kPhysicalOffsetAt = 28;
inline constexpr std::size_t kSysFlagAt = 36;
inline constexpr std::size_t kBornTimestampAt = 40;
inline constexpr std::size_t kBornHostAt = 48;  // what follows moves with the length of hosts

inline constexpr std::size_t kHeadBytes = 8;  // size and magic
inline constexpr std::size_t kHostBytesV4 = 8;
inline constexpr std::size_t kHostBytesV6 = 20;

// With two IPv4 hosts. Each IPv6 host adds kHostBytesV6 - kHostBytesV4.
inline constexpr std::size_t kBeforeBodyBytes = 88;

inline constexpr std::size_t kCrcDigits = 10;
inline constexpr std::string_view kCrcName{"__CRC32#\x01", 9};

// Ten decimal digits, least significant first: RocketMQ writes them that way around. Two halves, so
// that their divisions overlap.
inline void write_crc_digits(std::uint32_t crc, std::span<std::byte, kCrcDigits> to) {
  constexpr std::size_t kHalf = kCrcDigits / 2;
  std::uint32_t low = crc % 100000;
  std::uint32_t high = crc / 100000;
  for (std::size_t index = 0; index < kHalf; ++index) {
    to[index] = static_cast<std::byte>('0' + low % 10);
    to[index + kHalf] = static_cast<std::byte>('0' + high % 10);
    low /= 10;
    high /= 10;
  }
}

// Whether these are the digits that write_crc_digits() writes. Multiplies instead of dividing.
inline bool crc_digits_are(std::uint32_t crc, std::span<const std::byte, kCrcDigits> digits) {
  std::uint64_t number = 0;
  std::uint64_t weight = 1;
  bool all_digits = true;
  for (const std::byte digit : digits) {
    const unsigned value = std::to_integer<unsigned>(digit) - '0';
    all_digits &= value <= 9;
    number += value * weight;
    weight *= 10;
  }
  return all_digits && number == crc;
}

}  // namespace kerolox::storage::record_format
