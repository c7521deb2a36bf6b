#include "storage/store_sizes.h"

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kerolox::storage {
namespace {

// An index file is its header, its slots, and four entries for each slot, as RocketMQ's defaults
// are.
constexpr std::int64_t kIndexHeaderBytes = 40;
constexpr std::int64_t kIndexBytesPerSlot = 4 + 4 * 20;
constexpr std::string_view kFirstLine = "kerolox-sizes 1\n";
constexpr std::int64_t kRecordBytesMax = 4096;

std::filesystem::path record_of(const std::filesystem::path& directory) {
  return directory / "kerolox" / "sizes";
}

Error damaged(const std::filesystem::path& path, const char* fault) {
  return Error(ErrorCode::kCorruption, fault)
      .at(path.string())
      .with_remedy("remove the file: the sizes are then those of the files that are there");
}

// "NAME VALUE\n" at the begin of `text`, which moves on behind it.
std::optional<std::int64_t> take_line(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name) || text.size() <= name.size() || text[name.size()] != ' ') {
    return std::nullopt;
  }
  text.remove_prefix(name.size() + 1);
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (fault != std::errc() || value <= 0 || digits >= text.size() || text[digits] != '\n') {
    return std::nullopt;
  }
  text.remove_prefix(digits + 1);
  return value;
}

Result<StoreSizes> load_record(const std::filesystem::path& directory, FileSystem& file_system) {
  const std::filesystem::path path = record_of(directory);
  auto file = file_system.open(path, {.mode = OpenOptions::Mode::kReadOnly});
  if (!file) {
    return file.error().code() == ErrorCode::kNotFound ? Result<StoreSizes>(StoreSizes{})
                                                       : file.error();
  }
  std::array<char, kRecordBytesMax> buffer{};
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t read,
                           (*file)->read_at(0, std::as_writable_bytes(std::span(buffer))));
  std::string_view text(buffer.data(), read);
  if (!text.starts_with("kerolox-sizes ")) {
    return damaged(path, "this is no record of sizes");
  }
  if (!text.starts_with(kFirstLine)) {
    return Error(ErrorCode::kUnsupported, "the record of sizes has a newer format")
        .at(path.string())
        .with_remedy("open the store with the version that wrote it, or a newer one");
  }
  text.remove_prefix(kFirstLine.size());
  const auto queue_file_bytes = take_line(text, "queue_file_bytes");
  const auto index_slots = take_line(text, "index_slots");
  if (!queue_file_bytes || !index_slots || !text.empty()) {
    return damaged(path, "the record of sizes is damaged");
  }
  return StoreSizes{.queue_file_bytes = *queue_file_bytes, .index_slots = *index_slots};
}

Result<void> save_record(const std::filesystem::path& directory, const StoreSizes& sizes,
                         FileSystem& file_system) {
  const std::filesystem::path path = record_of(directory);
  const std::filesystem::path temporary = path.parent_path() / "sizes.tmp";
  std::string text(kFirstLine);
  text.append("queue_file_bytes ").append(std::to_string(sizes.queue_file_bytes)).append("\n");
  text.append("index_slots ").append(std::to_string(sizes.index_slots)).append("\n");
  KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                           file_system.open(temporary, {.mode = OpenOptions::Mode::kCreateOrOpen}));
  KEROLOX_RETURN_IF_ERROR(file->resize(0));
  KEROLOX_RETURN_IF_ERROR(file->write_at(0, std::as_bytes(std::span(text))));
  KEROLOX_RETURN_IF_ERROR(file->sync());
  KEROLOX_RETURN_IF_ERROR(file_system.rename(temporary, path));
  return file_system.sync_directory(path.parent_path());
}

Result<std::vector<DirectoryEntry>> list_if_there(const std::filesystem::path& directory,
                                                  FileSystem& file_system) {
  auto entries = file_system.list(directory);
  if (!entries && entries.error().code() == ErrorCode::kNotFound) {
    return std::vector<DirectoryEntry>();
  }
  return entries;
}

// The length of the first file with something in it below `directory`, `depth` folders down.
Result<std::int64_t> first_length(const std::filesystem::path& directory, int depth,
                                  FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries,
                           list_if_there(directory, file_system));
  for (const DirectoryEntry& entry : entries) {
    if (entry.directory != (depth > 0)) {
      continue;
    }
    std::int64_t bytes = 0;
    if (depth > 0) {
      KEROLOX_ASSIGN_OR_RETURN(bytes, first_length(directory / entry.name, depth - 1, file_system));
    } else {
      KEROLOX_ASSIGN_OR_RETURN(const FileStatus status, file_system.status(directory / entry.name));
      bytes = status.bytes;
    }
    if (bytes > 0) {
      return bytes;
    }
  }
  return std::int64_t{0};
}

Result<void> check_same(std::int64_t wanted, std::int64_t found, const char* option,
                        const std::filesystem::path& directory) {
  if (wanted == 0 || found == 0 || wanted == found) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument, std::string("the store has another ") + option)
      .at(directory.string())
      .with_number("asked_for", wanted)
      .with_number("of_the_store", found)
      .with_remedy(std::string("leave ") + option + " out, or give it the store's value");
}

}  // namespace

Result<StoreSizes> find_store_sizes(const std::filesystem::path& directory,
                                    FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(StoreSizes sizes, load_record(directory, file_system));
  KEROLOX_ASSIGN_OR_RETURN(const std::int64_t queue_bytes,
                           first_length(directory / "consumequeue", 2, file_system));
  KEROLOX_ASSIGN_OR_RETURN(const std::int64_t index_bytes,
                           first_length(directory / "index", 0, file_system));
  if (queue_bytes % kQueueUnitBytes != 0) {
    return Error(ErrorCode::kCorruption, "a queue file is no multiple of its 20-byte units")
        .at((directory / "consumequeue").string())
        .with_number("bytes", queue_bytes)
        .with_remedy("move the queue away: queues are rebuilt from the log");
  }
  if (queue_bytes > 0) {
    sizes.queue_file_bytes = queue_bytes;
  }
  // Other proportions are possible in Java's configuration; then the header's slots alone would
  // tell.
  if (index_bytes > kIndexHeaderBytes &&
      (index_bytes - kIndexHeaderBytes) % kIndexBytesPerSlot == 0) {
    sizes.index_slots = (index_bytes - kIndexHeaderBytes) / kIndexBytesPerSlot;
  }
  return sizes;
}

Result<StoreSizes> settle_store_sizes(const std::filesystem::path& directory,
                                      const StoreSizes& wanted, FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const StoreSizes found, find_store_sizes(directory, file_system));
  KEROLOX_RETURN_IF_ERROR(
      check_same(wanted.queue_file_bytes, found.queue_file_bytes, "queue_file_bytes", directory));
  KEROLOX_RETURN_IF_ERROR(
      check_same(wanted.index_slots, found.index_slots, "index_slots", directory));
  const auto choose = [](std::int64_t has, std::int64_t asked, std::int64_t otherwise) {
    return has != 0 ? has : asked != 0 ? asked : otherwise;
  };
  const StoreSizes settled{
      .queue_file_bytes =
          choose(found.queue_file_bytes, wanted.queue_file_bytes, kQueueFileBytesDefault),
      .index_slots = choose(found.index_slots, wanted.index_slots, kIndexSlotsDefault)};
  if (settled != found) {
    KEROLOX_RETURN_IF_ERROR(save_record(directory, settled, file_system));
  }
  return settled;
}

}  // namespace kerolox::storage
