// Any bytes as a checkpoint: they are refused, or mean what encoding writes back. Every input is
// also tried with the checksum that it should have, since no fuzzer guesses one.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "kerolox/base/check.h"
#include "kerolox/base/endian.h"
#include "storage/checkpoint_format.h"
#include "storage/hash.h"

namespace {

using namespace kerolox;
using namespace kerolox::storage;

void decode(std::span<const std::byte> bytes) {
  const DecodedCheckpoint decoded = decode_checkpoint(bytes);
  if (decoded.state != CheckpointState::kValid) {
    return;
  }
  std::vector<std::byte> again;
  encode_checkpoint(decoded.checkpoint, decoded.sequence, again);
  const DecodedCheckpoint twice = decode_checkpoint(again);
  KEROLOX_CHECK(twice.state == CheckpointState::kValid);
  KEROLOX_CHECK(twice.sequence == decoded.sequence);
  KEROLOX_CHECK(twice.checkpoint.queue_offsets == decoded.checkpoint.queue_offsets);
  KEROLOX_CHECK(twice.checkpoint.own_ranges == decoded.checkpoint.own_ranges);
  KEROLOX_CHECK(twice.checkpoint.quarantine.size() == decoded.checkpoint.quarantine.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span input(reinterpret_cast<const std::byte*>(data), size);
  decode(input);
  if (size < kCheckpointHeadBytes) {
    return 0;
  }
  std::vector<std::byte> sealed(input.begin(), input.end());
  std::memcpy(sealed.data(), "KRLXCKPT", 8);
  store_big_endian(sealed.data() + 16, kCheckpointVersion);
  store_big_endian(sealed.data() + 32, static_cast<std::int64_t>(size));
  store_big_endian(sealed.data() + 8, xxh3_64(std::span(sealed).subspan(16)));
  decode(sealed);
  return 0;
}
