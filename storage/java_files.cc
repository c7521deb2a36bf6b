#include "storage/java_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kerolox/base/endian.h"
#include "storage/hash.h"

namespace kerolox::storage {
namespace {

constexpr std::size_t kCheckpointBytes = 4096;
constexpr std::size_t kFieldCount = 5;

// What `path` begins with, up to `into`; nothing if there is no such file.
Result<std::optional<std::span<const std::byte>>> read_begin(const std::filesystem::path& path,
                                                             FileSystem& file_system,
                                                             std::span<std::byte> into) {
  auto opened = file_system.open(path, {.mode = OpenOptions::Mode::kReadOnly});
  if (!opened) {
    if (opened.error().code() == ErrorCode::kNotFound) {
      return std::optional<std::span<const std::byte>>();
    }
    return opened.error();
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t read_bytes, (*opened)->read_at(0, into));
  return std::optional<std::span<const std::byte>>(into.first(read_bytes));
}

}  // namespace

JavaFiles::JavaFiles(std::filesystem::path directory, FileSystem& file_system)
    : directory_(std::move(directory)), file_system_(file_system) {}

Result<std::optional<JavaCheckpoint>> JavaFiles::load_checkpoint() {
  std::array<std::byte, 8 * kFieldCount> fields{};  // what a shorter file lacks reads as 0
  KEROLOX_ASSIGN_OR_RETURN(const auto found,
                           read_begin(directory_ / "checkpoint", file_system_, fields));
  if (!found) {
    return std::optional<JavaCheckpoint>();
  }
  // A field that the file ends within is not one.
  std::fill(fields.begin() + static_cast<std::ptrdiff_t>(found->size() / 8 * 8), fields.end(),
            std::byte{0});
  const auto field = [&fields](std::size_t index) {
    return load_big_endian<std::int64_t>(fields.data() + 8 * index);
  };
  return std::optional(JavaCheckpoint{.physic_timestamp_ms = field(0),
                                      .logics_timestamp_ms = field(1),
                                      .index_timestamp_ms = field(2),
                                      .master_flushed = PhysicalOffset{field(3)},
                                      .confirm = PhysicalOffset{field(4)}});
}

Result<void> JavaFiles::save_checkpoint(const JavaCheckpoint& checkpoint) {
  const std::array<std::int64_t, kFieldCount> fields{
      checkpoint.physic_timestamp_ms, checkpoint.logics_timestamp_ms, checkpoint.index_timestamp_ms,
      checkpoint.master_flushed.value, checkpoint.confirm.value};
  std::array<std::byte, kCheckpointBytes> bytes{};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    store_big_endian(bytes.data() + 8 * i, fields[i]);
  }
  const std::filesystem::path temporary = directory_ / "kerolox" / "java-checkpoint.tmp";
  {
    KEROLOX_ASSIGN_OR_RETURN(
        const std::unique_ptr<File> file,
        file_system_.open(temporary, {.mode = OpenOptions::Mode::kCreateOrOpen}));
    KEROLOX_RETURN_IF_ERROR(file->resize(0));  // a crash may have left another's bytes
    KEROLOX_RETURN_IF_ERROR(file->write_at(0, bytes));
    KEROLOX_RETURN_IF_ERROR(file->sync());
  }
  KEROLOX_RETURN_IF_ERROR(file_system_.rename(temporary, directory_ / "checkpoint"));
  // The new name first: until it is on disk, the old one may be the only one that is.
  KEROLOX_RETURN_IF_ERROR(file_system_.sync_directory(directory_));
  return file_system_.sync_directory(directory_ / "kerolox");
}

Result<std::uint64_t> JavaFiles::checkpoint_hash() {
  std::array<std::byte, kCheckpointBytes> bytes{};
  KEROLOX_ASSIGN_OR_RETURN(const auto found,
                           read_begin(directory_ / "checkpoint", file_system_, bytes));
  if (!found) {
    return std::uint64_t{0};
  }
  return std::max<std::uint64_t>(xxh3_64(*found), 1);
}

Result<bool> JavaFiles::abort_exists() {
  const auto status = file_system_.status(directory_ / "abort");
  if (!status && status.error().code() != ErrorCode::kNotFound) {
    return status.error();
  }
  return status.has_value();
}

Result<std::optional<std::int64_t>> JavaFiles::abort_pid() {
  std::array<std::byte, 32> bytes{};
  KEROLOX_ASSIGN_OR_RETURN(const auto found, read_begin(directory_ / "abort", file_system_, bytes));
  if (!found) {
    return std::optional<std::int64_t>();
  }
  std::string_view text(reinterpret_cast<const char*>(found->data()), found->size());
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  std::int64_t pid = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), pid);
  const bool whole = fault == std::errc() && end == text.data() + text.size() && pid > 0;
  return std::optional<std::int64_t>(whole ? pid : 0);
}

Result<std::int64_t> JavaFiles::create_abort() {
  const std::int64_t pid = ::getpid();
  const std::string text = std::to_string(pid);
  KEROLOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<File> file,
      file_system_.open(directory_ / "abort", {.mode = OpenOptions::Mode::kCreateOrOpen}));
  KEROLOX_RETURN_IF_ERROR(file->write_at(0, std::as_bytes(std::span(text))));
  KEROLOX_RETURN_IF_ERROR(file->resize(static_cast<std::int64_t>(text.size())));
  KEROLOX_RETURN_IF_ERROR(file->sync());
  KEROLOX_RETURN_IF_ERROR(file_system_.sync_directory(directory_));
  return pid;
}

Result<void> JavaFiles::remove_abort() {
  auto removed = file_system_.remove(directory_ / "abort");
  if (!removed && removed.error().code() != ErrorCode::kNotFound) {
    return removed;
  }
  // Also when it was gone already: the run that removed it may have died before its sync.
  return file_system_.sync_directory(directory_);
}

}  // namespace kerolox::storage
