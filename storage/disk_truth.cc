#include "storage/disk_truth.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "storage/data_windows.h"
#include "storage/file_bytes.h"

namespace kerolox::storage {
namespace {

using Source = FileBytes::Source;

constexpr std::size_t kHeadBytes = 8;  // size and magic of what may stand at the log's end

// A log file held open for writing while its neighbours in time are written, too.
class LogWriter {
 public:
  explicit LogWriter(FileSystem& file_system) : file_system_(file_system) {}

  Result<void> write(const LogFileEntry& entry, PhysicalOffset at,
                     std::span<const std::byte> bytes) {
    KEROLOX_RETURN_IF_ERROR(open(entry));
    written_ += static_cast<std::int64_t>(bytes.size());
    return file_->write_at(at - base_, bytes);
  }
  Result<void> sync() { return file_ == nullptr ? Result<void>() : file_->sync(); }
  std::int64_t written() const { return written_; }

 private:
  Result<void> open(const LogFileEntry& entry) {
    if (file_ != nullptr && base_ == entry.base) {
      return {};
    }
    KEROLOX_RETURN_IF_ERROR(sync());
    KEROLOX_ASSIGN_OR_RETURN(
        file_, file_system_.open(entry.path, {.mode = OpenOptions::Mode::kReadWrite}));
    base_ = entry.base;
    return {};
  }

  FileSystem& file_system_;
  std::unique_ptr<File> file_;
  PhysicalOffset base_{-1};
  std::int64_t written_ = 0;
};

std::span<const std::byte> zeros(std::size_t bytes) {
  static const std::vector<std::byte> kZeros(static_cast<std::size_t>(FileBytes::kWindowBytes));
  return std::span(kZeros).first(bytes);
}

// The part of `bytes` from its first to its last byte that is not zero.
Result<void> zero_stretch(LogWriter& writer, const LogFileEntry& entry, PhysicalOffset begin,
                          std::span<const std::byte> bytes) {
  const std::size_t first = skip_zeros(bytes);
  if (first == bytes.size()) {
    return {};
  }
  const auto last = std::find_if(bytes.rbegin(), bytes.rend(),
                                 [](std::byte value) { return value != std::byte{0}; });
  const auto end = static_cast<std::size_t>(bytes.rend() - last);
  return writer.write(entry, begin + static_cast<std::int64_t>(first), zeros(end - first));
}

// Zeros what is not zero as seen through `source`. Returns the bytes written, synced.
Result<std::int64_t> zero_seen(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                               Source source, bool all, FileSystem& file_system) {
  LogWriter writer(file_system);
  const DataVisitor zero = [&writer, all](const LogFileEntry& entry, PhysicalOffset begin,
                                          std::span<const std::byte> bytes) -> Result<bool> {
    KEROLOX_RETURN_IF_ERROR(all ? writer.write(entry, begin, zeros(bytes.size()))
                                : zero_stretch(writer, entry, begin, bytes));
    return true;
  };
  KEROLOX_RETURN_IF_ERROR(visit_data(layout, from, to, {.source = source}, file_system, zero));
  KEROLOX_RETURN_IF_ERROR(writer.sync());
  return writer.written();
}

Result<void> zero_head(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                       FileSystem& file_system) {
  const LogFileEntry* entry = layout.file_of(from);
  if (entry == nullptr) {
    return {};
  }
  LogWriter writer(file_system);
  const auto bytes = static_cast<std::size_t>(std::min(
      {static_cast<std::int64_t>(kHeadBytes), to - from, entry->base + layout.file_bytes - from}));
  KEROLOX_RETURN_IF_ERROR(writer.write(*entry, from, zeros(bytes)));
  return writer.sync();
}

}  // namespace

Result<void> sync_files(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                        FileSystem& file_system) {
  for (const LogFileEntry& entry : layout.files) {
    if (entry.base >= to || entry.base + layout.file_bytes <= from) {
      continue;
    }
    KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                             file_system.open(entry.path, {.mode = OpenOptions::Mode::kReadWrite}));
    KEROLOX_RETURN_IF_ERROR(file->sync());
  }
  return {};
}

Result<bool> has_direct_reads(const LogLayout& layout, FileSystem& file_system) {
  const auto opened = file_system.open(layout.files.back().path,
                                       {.mode = OpenOptions::Mode::kReadOnly, .direct = true});
  if (!opened && opened.error().code() == ErrorCode::kUnsupported) {
    return false;
  }
  return opened ? Result<bool>(true) : opened.error();
}

Result<std::int64_t> rewrite_lost(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to,
                                  bool direct, FileSystem& file_system) {
  std::optional<FileBytes> disk;
  if (direct) {
    disk.emplace(layout, file_system, Source::kDisk);
  }
  std::vector<std::byte> buffer;
  std::shared_ptr<const void> pin;
  LogWriter writer(file_system);
  const DataVisitor rewrite = [&](const LogFileEntry& entry, PhysicalOffset begin,
                                  std::span<const std::byte> bytes) -> Result<bool> {
    if (disk) {
      KEROLOX_ASSIGN_OR_RETURN(
          const std::span<const std::byte> truth,
          disk->bytes_at(begin, static_cast<std::int64_t>(bytes.size()), buffer, pin));
      if (truth.size() >= bytes.size() &&
          std::memcmp(truth.data(), bytes.data(), bytes.size()) == 0) {
        return true;
      }
    }
    KEROLOX_RETURN_IF_ERROR(writer.write(entry, begin, bytes));
    return true;
  };
  // Holes, too: where a write got lost before it had blocks, memory shows bytes in what is a hole.
  KEROLOX_RETURN_IF_ERROR(
      visit_data(layout, from, to, {.skip_holes = false}, file_system, rewrite));
  KEROLOX_RETURN_IF_ERROR(writer.sync());
  return writer.written();
}

Result<void> zero_tail(const LogLayout& layout, PhysicalOffset from, PhysicalOffset to, bool direct,
                       FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<PhysicalOffset> visible,
                           first_nonzero(layout, from, to, file_system));
  if (visible || !direct) {
    KEROLOX_RETURN_IF_ERROR(zero_head(layout, from, to, file_system));
    KEROLOX_RETURN_IF_ERROR(zero_seen(layout, from, to, Source::kCache, !direct, file_system));
  }
  if (!direct) {
    return {};
  }
  // Zeros may be in memory alone: a recovery wrote them and died before its sync.
  KEROLOX_RETURN_IF_ERROR(sync_files(layout, from, to, file_system));
  // Zeros that a failed sync kept from the disk would be old records again after a power cut.
  constexpr int kLooks = 3;
  for (int look = 0; look < kLooks; ++look) {
    KEROLOX_ASSIGN_OR_RETURN(const std::int64_t written,
                             zero_seen(layout, from, to, Source::kDisk, false, file_system));
    if (written == 0) {
      return {};
    }
  }
  return Error(ErrorCode::kIoError, "the disk does not keep zeros that are written to it")
      .at(layout.files.back().path.string())
      .with_number("physical_offset", from.value)
      .with_remedy("replace the disk");
}

}  // namespace kerolox::storage
