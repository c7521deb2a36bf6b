// Makes messages and records for the tests of the codec.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/storage/record.h"

namespace kerolox::storage::test {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::vector<std::byte> joined(std::span<const std::span<const std::byte>> pieces) {
  std::vector<std::byte> bytes;
  for (const auto piece : pieces) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

struct EncodeOptions {
  RecordPlace place{.offset = {4096}, .queue_offset = {7}, .store_timestamp_ms = 1700000000123};
  Host host = loopback_host();
  bool record_crc = false;
  RecordLimits limits;
};

inline Result<std::vector<std::byte>> encode(const Message& message,
                                             const EncodeOptions& options = {}) {
  RecordEncoder encoder;
  KEROLOX_RETURN_IF_ERROR(
      encoder.prepare(message, options.host, options.record_crc, options.limits));
  return joined(encoder.finish(options.place));
}

inline RecordCheck check_all() { return {.body_crc = true, .record_crc = true}; }

}  // namespace kerolox::storage::test
