#include "storage/log_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "kerolox/base/check.h"

namespace kerolox::storage {
namespace {

constexpr std::size_t kNameDigits = 20;

std::optional<PhysicalOffset> parse_name(std::string_view name) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.size() != kNameDigits || !std::ranges::all_of(name, digit)) {
    return std::nullopt;
  }
  std::int64_t base = 0;
  const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), base);
  if (fault != std::errc()) {  // over 2^63 - 1
    return std::nullopt;
  }
  return PhysicalOffset{base};
}

struct FoundFile {
  LogFileEntry entry;
  std::int64_t bytes = 0;
};

// Adds the log files of one directory; sub-folders are skipped, as Java does.
Result<void> list_files(const std::filesystem::path& directory,
                        const std::vector<DirectoryEntry>& entries, FileSystem& file_system,
                        std::vector<FoundFile>& found) {
  for (const DirectoryEntry& entry : entries) {
    if (entry.directory) {
      continue;
    }
    const std::filesystem::path path = directory / entry.name;
    const auto base = parse_name(entry.name);
    if (!base) {
      return Error(ErrorCode::kCorruption, "not a log file (their names are twenty digits)")
          .at(path.string())
          .with_remedy("move it out of this directory; a Java broker refuses it, too");
    }
    const auto status = file_system.status(path);
    if (!status && status.error().code() == ErrorCode::kNotFound) {
      continue;  // a writer removed it meanwhile
    }
    if (!status) {
      return status.error();
    }
    found.push_back({.entry = {.path = path, .base = *base}, .bytes = status->bytes});
  }
  return {};
}

Result<std::vector<FoundFile>> find_files(const std::vector<std::filesystem::path>& directories,
                                          FileSystem& file_system) {
  std::vector<FoundFile> found;
  std::optional<Error> missing;
  bool exists = false;
  for (const std::filesystem::path& directory : directories) {
    const auto entries = file_system.list(directory);
    if (entries) {
      exists = true;
      KEROLOX_RETURN_IF_ERROR(list_files(directory, *entries, file_system, found));
    } else if (entries.error().code() == ErrorCode::kNotFound) {
      missing = entries.error();
    } else {
      return entries.error();
    }
  }
  if (!exists) {
    const std::string place = missing ? missing->place() : std::string();
    return Error(ErrorCode::kNotFound, "there is no log here")
        .at(place)
        .with_remedy("check the path: a store's root holds a folder named commitlog");
  }
  std::ranges::sort(found, {}, [](const FoundFile& file) { return file.entry.base; });
  return found;
}

Result<void> check_unique(const std::vector<FoundFile>& found) {
  const auto twice =
      std::ranges::adjacent_find(found, {}, [](const FoundFile& file) { return file.entry.base; });
  if (twice == found.end()) {
    return {};
  }
  return Error(ErrorCode::kCorruption, "the same part of the log is there twice, also as " +
                                           std::next(twice)->entry.path.string())
      .at(twice->entry.path.string())
      .with_remedy("keep the one that the store last used and move the other away");
}

// The length of most of the files; where that is a draw, the one that the names agree with.
std::int64_t usual_length(const std::vector<FoundFile>& found) {
  std::map<std::int64_t, std::int64_t> votes;
  for (std::size_t i = 0; i < found.size(); ++i) {
    votes[found[i].bytes] += 2;
    if (i > 0) {
      const auto distance = votes.find(found[i].entry.base - found[i - 1].entry.base);
      if (distance != votes.end()) {
        distance->second += 1;
      }
    }
  }
  return std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first;
}

Error wrong_length(const FoundFile& file, std::int64_t expected) {
  const bool shorter = file.bytes == 0 || file.bytes < expected;
  return Error(ErrorCode::kCorruption, shorter ? "log file is truncated" : "log file is too long")
      .at(file.entry.path.string())
      .with_number("bytes", file.bytes)
      .with_number("expected", expected)
      .with_remedy("restore it from a backup or a replica; all files of a log have one length");
}

Result<void> check_lengths(const std::vector<FoundFile>& found, std::int64_t usual,
                           std::int64_t file_bytes) {
  for (const FoundFile& file : found) {
    if (file.bytes != usual) {
      return wrong_length(file, usual);
    }
  }
  if (file_bytes != 0 && usual != file_bytes) {
    return Error(ErrorCode::kInvalidArgument, "the log has files of another size")
        .at(found.front().entry.path.string())
        .with_number("file_bytes", file_bytes)
        .with_number("bytes", usual)
        .with_remedy("open it with CommitLogOptions::file_bytes = " + std::to_string(usual) +
                     " (--log_file_bytes=" + std::to_string(usual) +
                     " on the command line), or leave it out to take the size that is there");
  }
  for (const FoundFile& file : found) {
    if (file.entry.base.value % usual != 0) {
      return Error(ErrorCode::kCorruption, "the name is not a multiple of the file's length")
          .at(file.entry.path.string())
          .with_number("bytes", file.bytes)
          .with_remedy("give it back its own name: the offset of its first byte");
    }
  }
  return {};
}

// Java's crash can leave a file that it had created and not yet given its length.
void take_empty_last_file(std::vector<FoundFile>& found, LogLayout& layout) {
  if (!found.empty() && found.back().bytes == 0) {
    layout.empty_files.push_back(found.back().entry.path);
    found.pop_back();
  }
}

// What is in `directory`; nothing if there is no such directory.
Result<std::vector<DirectoryEntry>> list_if_there(const std::filesystem::path& directory,
                                                  FileSystem& file_system) {
  auto entries = file_system.list(directory);
  if (!entries && entries.error().code() == ErrorCode::kNotFound) {
    return std::vector<DirectoryEntry>();
  }
  return entries;
}

// The first file below `directory`, at most `depth` folders deep.
Result<std::optional<std::filesystem::path>> first_file(const std::filesystem::path& directory,
                                                        int depth, FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const auto entries, list_if_there(directory, file_system));
  for (const DirectoryEntry& entry : entries) {
    std::optional<std::filesystem::path> found = directory / entry.name;
    if (entry.directory && depth > 0) {
      KEROLOX_ASSIGN_OR_RETURN(found, first_file(*found, depth - 1, file_system));
    } else if (entry.directory) {
      continue;
    }
    if (found) {
      return found;
    }
  }
  return std::optional<std::filesystem::path>();
}

Result<bool> holds_rocksdb(const std::filesystem::path& directory, FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const auto entries, list_if_there(directory, file_system));
  return std::ranges::any_of(entries, [](const DirectoryEntry& entry) {
    return !entry.directory && (entry.name == "CURRENT" || entry.name.starts_with("MANIFEST-"));
  });
}

Error unsupported(const std::filesystem::path& place, std::string what, std::string remedy) {
  return Error(ErrorCode::kUnsupported, std::move(what))
      .at(place.string())
      .with_remedy(std::move(remedy));
}

constexpr const char* kReadItRemedy =
    "open it read-only (kerolox store export reads the whole log), or let a Java broker serve it";

// DLedger wraps each record in an entry of its own, in files of its own; what `commitlog` holds is
// at most the part from before the switch.
Result<void> check_dledger(const std::filesystem::path& directory,
                           const std::vector<DirectoryEntry>& entries, FileSystem& file_system) {
  for (const DirectoryEntry& entry : entries) {
    if (!entry.directory || !entry.name.starts_with("dledger-")) {
      continue;
    }
    const std::filesystem::path path = directory / entry.name;
    KEROLOX_ASSIGN_OR_RETURN(const auto file, first_file(path, 2, file_system));
    if (file) {
      return unsupported(path, "a DLedger store: its messages are in Raft entries",
                         "let its Java brokers serve it, and move the messages with a consumer");
    }
  }
  return {};
}

Result<void> check_rocksdb(const std::filesystem::path& directory,
                           const std::vector<DirectoryEntry>& entries, FileSystem& file_system) {
  std::vector<std::filesystem::path> places;
  for (const DirectoryEntry& entry : entries) {
    if (entry.directory && entry.name != "commitlog") {
      places.push_back(directory / entry.name);
    }
  }
  KEROLOX_ASSIGN_OR_RETURN(const auto tables, list_if_there(directory / "config", file_system));
  for (const DirectoryEntry& entry : tables) {
    if (entry.directory) {
      places.push_back(directory / "config" / entry.name);
    }
  }
  for (const std::filesystem::path& place : places) {
    KEROLOX_ASSIGN_OR_RETURN(const bool found, holds_rocksdb(place, file_system));
    if (found) {
      return unsupported(place, "a RocksDB store: this version does not maintain its databases",
                         kReadItRemedy);
    }
  }
  return {};
}

Result<void> check_lmq(const std::filesystem::path& directory, FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const auto topics,
                           list_if_there(directory / "consumequeue", file_system));
  for (const DirectoryEntry& topic : topics) {
    if (topic.directory && topic.name.starts_with("%LMQ%")) {
      return unsupported(directory / "consumequeue" / topic.name,
                         "light message queues (multi-dispatch): this version does not fill them",
                         kReadItRemedy);
    }
  }
  return {};
}

struct DerivedFolder {
  const char* name;
  const char* what;
};

// From the special to the general: the first that applies is the one to name.
constexpr std::array<DerivedFolder, 5> kDerivedFolders{{
    {"batchconsumequeue", "batch consume queues: this version does not maintain them"},
    {"compaction", "compacted topics: this version does not maintain them"},
    {"consumequeue_ext", "extended consume queues: this version does not maintain them"},
    {"consumequeue", "queues that Java wrote: this version does not maintain them"},
    {"index", "an index that Java wrote: this version does not maintain it"},
}};

}  // namespace

const LogFileEntry* LogLayout::file_of(PhysicalOffset offset) const {
  const auto behind = std::ranges::upper_bound(files, offset, {}, &LogFileEntry::base);
  if (behind == files.begin()) {
    return nullptr;
  }
  const LogFileEntry& file = *std::prev(behind);
  return offset - file.base < file_bytes ? &file : nullptr;
}

std::string log_file_name(PhysicalOffset base) {
  KEROLOX_CHECK(base.value >= 0);
  const std::string digits = std::to_string(base.value);
  return std::string(kNameDigits - digits.size(), '0') + digits;
}

Result<LogLayout> read_log_layout(const std::vector<std::filesystem::path>& directories,
                                  std::int64_t file_bytes, FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(std::vector<FoundFile> found, find_files(directories, file_system));
  LogLayout layout;
  KEROLOX_RETURN_IF_ERROR(check_unique(found));
  take_empty_last_file(found, layout);
  if (found.empty()) {
    return layout;
  }
  const std::int64_t usual = usual_length(found);
  if (usual == 0) {
    return wrong_length(found.front(), file_bytes);
  }
  KEROLOX_RETURN_IF_ERROR(check_lengths(found, usual, file_bytes));
  layout.file_bytes = usual;
  layout.files.reserve(found.size());
  for (FoundFile& file : found) {
    layout.files.push_back(std::move(file.entry));
  }
  return layout;
}

Result<void> check_supported(const std::filesystem::path& directory, bool for_writing,
                             FileSystem& file_system) {
  KEROLOX_ASSIGN_OR_RETURN(const auto entries, list_if_there(directory, file_system));
  KEROLOX_RETURN_IF_ERROR(check_dledger(directory, entries, file_system));
  if (!for_writing) {
    return {};
  }
  KEROLOX_RETURN_IF_ERROR(check_rocksdb(directory, entries, file_system));
  KEROLOX_RETURN_IF_ERROR(check_lmq(directory, file_system));
  for (const DerivedFolder& folder : kDerivedFolders) {
    KEROLOX_ASSIGN_OR_RETURN(const auto file, first_file(directory / folder.name, 3, file_system));
    if (file) {
      return unsupported(*file, folder.what, kReadItRemedy);
    }
  }
  return {};
}

}  // namespace kerolox::storage
