#include "storage/cut_file.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "kerolox/base/endian.h"
#include "storage/data_windows.h"
#include "storage/hash.h"

namespace kerolox::storage {
namespace {

constexpr std::uint64_t kMagic = 0x4B584C4F47435554;  // "KXLOGCUT"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeadBytes = 32;
constexpr std::size_t kStretchHeadBytes = 24;
constexpr std::int64_t kNoMore = -1;

// Zeros in a row that are worth a new stretch.
constexpr std::size_t kZerosMin = 512;

std::size_t nonzero_length(std::span<const std::byte> bytes) {
  std::size_t length = 0;
  std::size_t zeros = 0;
  for (std::size_t index = 0; index < bytes.size() && zeros < kZerosMin; ++index) {
    zeros = bytes[index] == std::byte{0} ? zeros + 1 : 0;
    length = zeros == 0 ? index + 1 : length;
  }
  return length;
}

class CutWriter {
 public:
  CutWriter(std::filesystem::path directory, FileSystem& file_system)
      : directory_(std::move(directory)), file_system_(file_system) {}

  // Splits `bytes` into stretches without long runs of zeros and writes them. The first one
  // creates the temporary file.
  Result<void> add(PhysicalOffset begin, std::span<const std::byte> bytes);
  // Completes the file and gives it its name.
  Result<SavedCut> finish(PhysicalOffset cut_offset, std::int64_t wall_ms);

 private:
  Result<void> create();
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write_stretch_head(std::int64_t offset, std::span<const std::byte> bytes);
  Result<std::filesystem::path> free_name(PhysicalOffset cut_offset, std::int64_t wall_ms);

  std::filesystem::path directory_;
  FileSystem& file_system_;
  std::unique_ptr<File> file_;
  std::int64_t written_ = 0;
  std::int64_t saved_ = 0;
};

Result<void> CutWriter::add(PhysicalOffset begin, std::span<const std::byte> bytes) {
  for (std::size_t at = skip_zeros(bytes); at < bytes.size(); at += skip_zeros(bytes.subspan(at))) {
    const auto stretch = bytes.subspan(at, nonzero_length(bytes.subspan(at)));
    if (file_ == nullptr) {
      KEROLOX_RETURN_IF_ERROR(create());
    }
    KEROLOX_RETURN_IF_ERROR(
        write_stretch_head((begin + static_cast<std::int64_t>(at)).value, stretch));
    KEROLOX_RETURN_IF_ERROR(write(stretch));
    saved_ += static_cast<std::int64_t>(stretch.size());
    at += stretch.size();
  }
  return {};
}

Result<void> CutWriter::create() {
  KEROLOX_RETURN_IF_ERROR(file_system_.create_directories(directory_));
  KEROLOX_RETURN_IF_ERROR(file_system_.sync_directory(directory_.parent_path()));
  KEROLOX_ASSIGN_OR_RETURN(file_, file_system_.open(directory_ / "saving.tmp",
                                                    {.mode = OpenOptions::Mode::kCreateOrOpen}));
  KEROLOX_RETURN_IF_ERROR(file_->resize(0));  // what a crash left
  std::array<std::byte, kHeadBytes> head{};
  store_big_endian(head.data(), kMagic);
  store_big_endian(head.data() + 8, kVersion);
  store_big_endian(head.data() + 24, xxh3_64(std::span(head).first(24)));
  return write(head);
}

Result<void> CutWriter::write(std::span<const std::byte> bytes) {
  KEROLOX_RETURN_IF_ERROR(file_->write_at(written_, bytes));
  written_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

Result<void> CutWriter::write_stretch_head(std::int64_t offset, std::span<const std::byte> bytes) {
  std::array<std::byte, kStretchHeadBytes> head{};
  store_big_endian(head.data(), offset);
  store_big_endian(head.data() + 8, static_cast<std::int64_t>(bytes.size()));
  store_big_endian(head.data() + 16, xxh3_64(bytes));
  return write(head);
}

// A cut of the same millisecond keeps its file: this one takes the next.
Result<std::filesystem::path> CutWriter::free_name(PhysicalOffset cut_offset,
                                                   std::int64_t wall_ms) {
  for (;; ++wall_ms) {
    std::filesystem::path path =
        directory_ / (log_file_name(cut_offset) + "-" + std::to_string(wall_ms) + ".bin");
    const auto status = file_system_.status(path);
    if (!status && status.error().code() == ErrorCode::kNotFound) {
      return path;
    }
    if (!status) {
      return status.error();
    }
  }
}

Result<SavedCut> CutWriter::finish(PhysicalOffset cut_offset, std::int64_t wall_ms) {
  if (file_ == nullptr) {
    return SavedCut();
  }
  KEROLOX_RETURN_IF_ERROR(write_stretch_head(kNoMore, {}));
  KEROLOX_RETURN_IF_ERROR(file_->sync());
  KEROLOX_ASSIGN_OR_RETURN(const std::filesystem::path path, free_name(cut_offset, wall_ms));
  KEROLOX_RETURN_IF_ERROR(file_system_.rename(directory_ / "saving.tmp", path));
  KEROLOX_RETURN_IF_ERROR(file_system_.sync_directory(directory_));
  return SavedCut{saved_, path};
}

Error damaged(const std::filesystem::path& path, std::int64_t position) {
  return Error(ErrorCode::kCorruption, "the cut file is damaged")
      .at(path.string() + " at " + std::to_string(position));
}

}  // namespace

Result<SavedCut> save_cut(const std::filesystem::path& kerolox_directory, const LogLayout& layout,
                          PhysicalOffset from, PhysicalOffset to, std::int64_t wall_ms,
                          FileSystem& file_system) {
  CutWriter writer(kerolox_directory / "cut", file_system);
  const DataVisitor save = [&writer](const LogFileEntry&, PhysicalOffset begin,
                                     std::span<const std::byte> bytes) -> Result<bool> {
    KEROLOX_RETURN_IF_ERROR(writer.add(begin, bytes));
    return true;
  };
  KEROLOX_RETURN_IF_ERROR(visit_data(layout, from, to, {}, file_system, save));
  return writer.finish(from, wall_ms);
}

Result<std::vector<CutStretch>> load_cut(const std::filesystem::path& path,
                                         FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<File> file, file_system.open(path, {}));
  KEROLOX_ASSIGN_OR_RETURN(const FileStatus status, file->status());
  std::array<std::byte, kHeadBytes> head{};
  KEROLOX_ASSIGN_OR_RETURN(std::size_t read, file->read_at(0, head));
  if (read < kHeadBytes || load_big_endian<std::uint64_t>(head.data()) != kMagic ||
      load_big_endian<std::uint64_t>(head.data() + 24) != xxh3_64(std::span(head).first(24))) {
    return damaged(path, 0);
  }
  std::vector<CutStretch> stretches;
  std::int64_t at = kHeadBytes;
  for (;;) {
    std::array<std::byte, kStretchHeadBytes> stretch{};
    KEROLOX_ASSIGN_OR_RETURN(read, file->read_at(at, stretch));
    at += kStretchHeadBytes;
    const auto offset = load_big_endian<std::int64_t>(stretch.data());
    const auto bytes = load_big_endian<std::int64_t>(stretch.data() + 8);
    if (read == kStretchHeadBytes && offset == kNoMore) {
      return stretches;
    }
    if (read < kStretchHeadBytes || bytes <= 0 || bytes > status.bytes - at) {
      return damaged(path, at - static_cast<std::int64_t>(kStretchHeadBytes));
    }
    CutStretch& loaded = stretches.emplace_back();
    loaded.offset = PhysicalOffset{offset};
    loaded.bytes.resize(static_cast<std::size_t>(bytes));
    KEROLOX_ASSIGN_OR_RETURN(read, file->read_at(at, loaded.bytes));
    if (read < loaded.bytes.size() ||
        xxh3_64(loaded.bytes) != load_big_endian<std::uint64_t>(stretch.data() + 16)) {
      return damaged(path, at);
    }
    at += bytes;
  }
}

}  // namespace kerolox::storage
