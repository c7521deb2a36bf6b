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

// Ten decimal digits, least significant first: RocketMQ writes them that way around.
inline void write_crc_digits(std::uint32_t crc, std::span<std::byte, kCrcDigits> to) {
  for (std::byte& digit : to) {
    digit = static_cast<std::byte>('0' + crc % 10);
    crc /= 10;
  }
}

}  // namespace kerolox::storage::record_format
