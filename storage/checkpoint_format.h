// The bytes of `kerolox/checkpoint-a` and `-b`: storage/FORMAT.md, section "Checkpoint".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage/checkpoint.h"

namespace kerolox::storage {

inline constexpr std::uint32_t kCheckpointVersion = 1;
inline constexpr std::size_t kCheckpointHeadBytes = 40;  // the part that no version changes
// More is not a checkpoint: no size is believed beyond it, whatever the file's length.
inline constexpr std::int64_t kCheckpointBytesMax = std::int64_t{1} << 30;

// Replaces what `into` holds; keeps its capacity. What the bytes cannot express is a programming
// error (KEROLOX_CHECK): offsets out of order, a topic or boot id over 65,535 bytes.
void encode_checkpoint(const Checkpoint& checkpoint, std::uint64_t sequence,
                       std::vector<std::byte>& into);

enum class CheckpointState : std::uint8_t {
  kAbsent,   // empty or zeros: prepared, never written
  kValid,    // of this version
  kNewer,    // whole, but of a version that we do not know
  kDamaged,  // anything else
};

struct DecodedCheckpoint {
  CheckpointState state = CheckpointState::kDamaged;
  std::uint32_t version = 0;   // kValid, kNewer
  std::uint64_t sequence = 0;  // kValid, kNewer
  Checkpoint checkpoint;       // kValid
};

// The bytes that the copy which begins with `head` claims to occupy: nothing if it does not begin
// as one, or claims more than `file_bytes`.
std::optional<std::size_t> claimed_checkpoint_bytes(std::span<const std::byte> head,
                                                    std::int64_t file_bytes);

// Any bytes. Allocates no more than they could fill.
DecodedCheckpoint decode_checkpoint(std::span<const std::byte> bytes);

}  // namespace kerolox::storage
