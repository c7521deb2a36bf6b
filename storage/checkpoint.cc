#include "storage/checkpoint.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kerolox/base/check.h"
#include "storage/checkpoint_format.h"

namespace kerolox::storage {
namespace {

// Copies grow in steps of this, written with zeros: later saves overwrite blocks that exist, which
// needs no space and syncs without a change to the file's metadata.
constexpr std::size_t kGrowthBytes = std::size_t{64} << 10;

std::size_t roomy(std::size_t bytes) {
  const std::size_t wanted = bytes + bytes / 2;
  return (wanted + kGrowthBytes - 1) / kGrowthBytes * kGrowthBytes;
}

Error newer_version(const std::filesystem::path& path, std::uint32_t version) {
  return Error(ErrorCode::kUnsupported, "checkpoint of a newer format version")
      .at(path.string())
      .with_number("version", version)
      .with_number("version_supported", kCheckpointVersion)
      .with_remedy("open the store with the Kerolox version that wrote it, or a newer one");
}

// Reads the copy at `path`; a missing one is kAbsent. Allocates what it claims to hold, and that
// only if the file is as long.
Result<DecodedCheckpoint> read_copy(const std::filesystem::path& path, FileSystem& file_system) {
  auto opened = file_system.open(path, {.mode = OpenOptions::Mode::kReadOnly});
  if (!opened) {
    if (opened.error().code() == ErrorCode::kNotFound) {
      return DecodedCheckpoint{.state = CheckpointState::kAbsent};
    }
    return opened.error();
  }
  File& file = **opened;
  KEROLOX_ASSIGN_OR_RETURN(const FileStatus status, file.status());
  std::vector<std::byte> bytes(kCheckpointHeadBytes);
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t head_bytes, file.read_at(0, bytes));
  bytes.resize(head_bytes);
  if (const auto claimed = claimed_checkpoint_bytes(bytes, status.bytes)) {
    bytes.resize(*claimed);
    KEROLOX_ASSIGN_OR_RETURN(const std::size_t read_bytes, file.read_at(0, bytes));
    bytes.resize(read_bytes);
  }
  return decode_checkpoint(bytes);
}

}  // namespace

CheckpointFiles::CheckpointFiles(std::filesystem::path directory, FileSystem& file_system)
    : directory_(std::move(directory)), file_system_(file_system) {
  copies_[0].path = directory_ / "checkpoint-a";
  copies_[1].path = directory_ / "checkpoint-b";
}

Result<std::optional<Checkpoint>> CheckpointFiles::load() {
  damaged_copies_ = 0;
  std::uint64_t newest = 0;
  std::size_t newest_copy = 1;
  std::optional<Checkpoint> checkpoint;
  for (std::size_t copy = 0; copy < copies_.size(); ++copy) {
    KEROLOX_ASSIGN_OR_RETURN(DecodedCheckpoint decoded,
                             read_copy(copies_[copy].path, file_system_));
    if (decoded.state == CheckpointState::kNewer) {
      return newer_version(copies_[copy].path, decoded.version);
    }
    if (decoded.state == CheckpointState::kDamaged) {
      ++damaged_copies_;
    }
    if (decoded.state == CheckpointState::kValid && decoded.sequence > newest) {
      newest = decoded.sequence;
      newest_copy = copy;
      checkpoint = std::move(decoded.checkpoint);
    }
  }
  sequence_ = newest;
  next_copy_ = 1 - newest_copy;
  loaded_ = true;
  return checkpoint;
}

// Opens the copy unless it is open and still has its name; returns its length.
Result<std::int64_t> CheckpointFiles::open_copy(Copy& copy) {
  if (copy.file) {
    KEROLOX_ASSIGN_OR_RETURN(const FileStatus status, copy.file->status());
    if (status.link_count > 0) {
      return status.bytes;
    }
    copy.file.reset();
    names_synced_ = false;
  }
  KEROLOX_ASSIGN_OR_RETURN(
      copy.file, file_system_.open(copy.path, {.mode = OpenOptions::Mode::kCreateOrOpen}));
  KEROLOX_ASSIGN_OR_RETURN(const FileStatus status, copy.file->status());
  return status.bytes;
}

// Writes the buffer over the copy, followed by zeros where that makes room for growth.
Result<void> CheckpointFiles::write_copy(Copy& copy) {
  KEROLOX_ASSIGN_OR_RETURN(const std::int64_t length, open_copy(copy));
  const std::size_t content_bytes = buffer_.size();
  const auto file_bytes = static_cast<std::size_t>(length);
  if (file_bytes < content_bytes + content_bytes / 8) {
    buffer_.resize(roomy(content_bytes));
    const auto grown = copy.file->write_at(0, buffer_);
    buffer_.resize(content_bytes);
    // Without space to grow, what is there must do as long as the content fits.
    if (grown || grown.error().code() != ErrorCode::kNoSpace || file_bytes < content_bytes) {
      return grown;
    }
  }
  return copy.file->write_at(0, buffer_);
}

Result<void> CheckpointFiles::sync_copy(Copy& copy) {
  Result<void> synced = copy.file->sync();
  if (synced && !names_synced_) {
    synced = file_system_.sync_directory(directory_);
    names_synced_ = synced.has_value();
  }
  if (!synced) {
    sync_failure_ = synced.error();
  }
  return synced;
}

Result<void> CheckpointFiles::save(const Checkpoint& checkpoint) {
  KEROLOX_CHECK(loaded_);
  if (sync_failure_) {
    return *sync_failure_;
  }
  // Both exist from the first save on: the second needs space, too, and is not to run out of it.
  Copy& other = copies_[1 - next_copy_];
  if (!other.file) {
    KEROLOX_ASSIGN_OR_RETURN(const std::int64_t length, open_copy(other));
    if (length == 0) {
      buffer_.assign(kGrowthBytes, std::byte{0});
      KEROLOX_RETURN_IF_ERROR(other.file->write_at(0, buffer_));
    }
  }
  encode_checkpoint(checkpoint, sequence_ + 1, buffer_);
  Copy& copy = copies_[next_copy_];
  KEROLOX_RETURN_IF_ERROR(write_copy(copy));
  KEROLOX_RETURN_IF_ERROR(sync_copy(copy));
  ++sequence_;
  next_copy_ = 1 - next_copy_;
  return {};
}

}  // namespace kerolox::storage
