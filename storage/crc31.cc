#include "storage/crc31.h"

#include <libdeflate.h>

#include "kerolox/storage/record.h"

namespace kerolox::storage {

std::uint32_t crc32_continue(std::uint32_t crc, std::span<const std::byte> bytes) {
  // libdeflate takes a null pointer as "give me the initial value", whatever `crc` is.
  return bytes.empty() ? crc : libdeflate_crc32(crc, bytes.data(), bytes.size());
}

std::uint32_t crc31(std::span<const std::byte> bytes) {
  return crc32_continue(0, bytes) & kCrc31Mask;
}

}  // namespace kerolox::storage
