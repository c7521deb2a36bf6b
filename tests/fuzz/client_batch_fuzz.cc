// Any bytes: a batch is refused with its cause, or its items lie within it, one after the other,
// and are encoded back.
#include <algorithm>
#include <cstdint>
#include <span>

#include "kerolox/base/check.h"
#include "kerolox/storage/client_batch.h"
#include "kerolox/storage/record.h"

namespace kerolox::storage {
namespace {

void fuzz(std::span<const std::byte> bytes) {
  const auto split = split_client_batch(bytes, {.topic = "orders"});
  if (!split) {
    KEROLOX_CHECK(split.error().code() == ErrorCode::kInvalidArgument);
    return;
  }
  const std::byte* at = bytes.data();
  bool is_ours = true;
  for (const Message& message : *split) {
    KEROLOX_CHECK(message.body.data() == at + 20);
    KEROLOX_CHECK(message.topic == "orders");
    const std::size_t item_bytes = 22 + message.body.size() + message.encoded_properties.size();
    // Two fields that nobody reads are written as 0; a `__CRC32#` is dropped.
    is_ours = is_ours &&
              std::all_of(at + 4, at + 12, [](std::byte byte) { return byte == std::byte{0}; }) &&
              message.encoded_properties.find(property::kRecordCrc) == std::string_view::npos;
    at += item_bytes;
    RecordEncoder encoder;
    KEROLOX_CHECK(encoder.prepare(message, loopback_host(), true, {}).has_value());
  }
  KEROLOX_CHECK(at == bytes.data() + bytes.size());
  const auto encoded = encode_client_batch(*split);
  KEROLOX_CHECK(encoded.has_value());
  KEROLOX_CHECK(!is_ours || std::ranges::equal(*encoded, bytes));
}

}  // namespace
}  // namespace kerolox::storage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kerolox::storage::fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}
