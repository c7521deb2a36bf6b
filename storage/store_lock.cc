#include "storage/store_lock.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/durable_directory.h"

namespace kerolox::storage {
namespace {

constexpr std::string_view kLockText = "lock";
// One sector, overwritten in place: whoever reads it meanwhile sees one stamp or the other, and a
// full disk does not keep an old name on a new owner.
constexpr std::size_t kStampBytes = 512;
constexpr std::size_t kFieldBytesMax = 100;
constexpr int kTriesMax = 10;

std::filesystem::path lock_path(const std::filesystem::path& directory) {
  return directory / "lock";
}
std::filesystem::path stamp_path(const std::filesystem::path& directory) {
  return directory / "kerolox" / "owner";
}

// "2026-01-01T00:00:00Z"
std::string utc_text(std::int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm fields{};
  std::array<char, 32> text{};
  if (::gmtime_r(&seconds, &fields) == nullptr) {
    return std::to_string(wall_ms) + " ms";
  }
  const std::size_t bytes = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &fields);
  return {text.data(), bytes};
}

std::string host_name() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) {
    return "unknown";
  }
  return text.data();
}

struct Stamp {
  std::int64_t pid = 0;
  std::string host;
  std::string since;
  std::string boot_id;
};

// The value of the line "name: value", without what would not print.
std::string field(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t line_bytes = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, line_bytes);
    text.remove_prefix(std::min(line_bytes + 1, text.size()));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(": ")) {
      std::string value(line.substr(name.size() + 2, kFieldBytesMax));
      std::ranges::replace_if(value, [](char c) { return c < ' ' || c > '~'; }, '?');
      return value;
    }
  }
  return {};
}

// Nothing if there is no stamp, or none that can be read: it is advice, never a reason to fail.
std::optional<Stamp> read_stamp(const std::filesystem::path& directory, FileSystem& file_system) {
  auto opened = file_system.open(stamp_path(directory), {.mode = OpenOptions::Mode::kReadOnly});
  if (!opened) {
    return std::nullopt;
  }
  std::array<std::byte, kStampBytes> bytes{};
  const auto read_bytes = (*opened)->read_at(0, bytes);
  if (!read_bytes) {
    return std::nullopt;
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), *read_bytes);
  Stamp stamp{.host = field(text, "host"),
              .since = field(text, "since"),
              .boot_id = field(text, "boot_id")};
  const std::string pid = field(text, "pid");
  std::from_chars(pid.data(), pid.data() + pid.size(), stamp.pid);
  if (stamp.pid <= 0 || stamp.host.empty()) {
    return std::nullopt;
  }
  return stamp;
}

std::string describe(const Stamp& stamp) {
  return "pid " + std::to_string(stamp.pid) + " on " + stamp.host + " since " + stamp.since;
}

// Whether the process of the stamp is known to have ended. On another machine, or in a container
// with a host name of its own, we cannot know.
bool has_ended(const Stamp& stamp, FileSystem& file_system) {
  if (stamp.host != host_name()) {
    return false;
  }
  return stamp.boot_id != file_system.boot_id() ||
         (::kill(static_cast<pid_t>(stamp.pid), 0) != 0 && errno == ESRCH);
}

// `lock`: the lock file, which somebody holds.
Error locked(File& lock, const std::filesystem::path& directory, FileSystem& file_system) {
  const auto stamp = read_stamp(directory, file_system);
  const auto holder = lock.lock_holder();
  std::string owner = "by another process";
  if (stamp && !has_ended(*stamp, file_system)) {
    owner = "in " + describe(*stamp);
  } else if (holder && holder->value_or(File::kUnknownProcess) > 0) {
    owner = "in pid " + std::to_string(**holder) + ", which left no stamp: a Java broker?";
  }
  return Error(ErrorCode::kLocked, "store " + directory.string() + " is open " + owner)
      .with_remedy("stop that process; its lock goes with it");
}

Error refused(const Error& error) {
  return error.code() == ErrorCode::kPermission
             ? error.with_remedy(
                   "make the store's directory writable for this user, or open it read-only")
             : error;
}

// The locked file, or nothing if its name now belongs to another one: then that is the lock.
Result<std::unique_ptr<File>> try_take(const std::filesystem::path& directory,
                                       FileSystem& file_system) {
  const std::filesystem::path path = lock_path(directory);
  KEROLOX_ASSIGN_OR_RETURN(std::unique_ptr<File> file,
                           file_system.open(path, {.mode = OpenOptions::Mode::kCreateOrOpen}));
  KEROLOX_ASSIGN_OR_RETURN(const bool taken, file->try_lock());
  if (!taken) {
    return locked(*file, directory, file_system);
  }
  KEROLOX_ASSIGN_OR_RETURN(const FileStatus ours, file->status());
  const auto named = file_system.status(path);
  if (!named || named->inode != ours.inode || named->device != ours.device) {
    return std::unique_ptr<File>();
  }
  return file;
}

// As Java does; nothing is written if it is there already.
Result<void> write_lock_text(File& file) {
  std::array<std::byte, kLockText.size()> bytes{};
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t read_bytes, file.read_at(0, bytes));
  if (read_bytes == bytes.size() && std::memcmp(bytes.data(), kLockText.data(), read_bytes) == 0) {
    return {};
  }
  return file.write_at(0, std::as_bytes(std::span(kLockText)));
}

Result<void> write_stamp(const std::filesystem::path& directory, FileSystem& file_system,
                         const Clock& clock) {
  std::string text = "pid: " + std::to_string(::getpid()) + "\n";
  text += "host: " + host_name().substr(0, kFieldBytesMax) + "\n";
  text += "since: " + utc_text(clock.wall_ms()) + "\n";
  text += "boot_id: " + file_system.boot_id().substr(0, kFieldBytesMax) + "\n";
  text += "program: kerolox " KEROLOX_VERSION "\n";
  text.resize(kStampBytes, '\n');
  KEROLOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<File> file,
      file_system.open(stamp_path(directory), {.mode = OpenOptions::Mode::kCreateOrOpen}));
  return file->write_at(0, std::as_bytes(std::span(text)));
}

Result<std::unique_ptr<File>> take_lock(const std::filesystem::path& directory,
                                        FileSystem& file_system, const Clock& clock) {
  // A store that somebody holds is not touched, not even by a sync: those come with the lock.
  const std::filesystem::path ours = directory / "kerolox";
  const auto there = file_system.status(ours);
  if (!there && there.error().code() != ErrorCode::kNotFound) {
    return there.error();
  }
  if (!there) {
    KEROLOX_RETURN_IF_ERROR(file_system.create_directories(ours));
  }
  for (int tries = 0; tries < kTriesMax; ++tries) {
    KEROLOX_ASSIGN_OR_RETURN(std::unique_ptr<File> file, try_take(directory, file_system));
    if (file) {
      KEROLOX_RETURN_IF_ERROR(create_durable_directories(ours, file_system));
      KEROLOX_RETURN_IF_ERROR(write_lock_text(*file));
      KEROLOX_RETURN_IF_ERROR(write_stamp(directory, file_system, clock));
      return file;
    }
  }
  return Error(ErrorCode::kLocked, "somebody keeps replacing the lock file")
      .at(lock_path(directory).string())
      .with_remedy("find and stop the process that removes it");
}

}  // namespace

StoreLock::StoreLock(std::unique_ptr<File> file) : file_(std::move(file)) {}

Result<StoreLock> StoreLock::take(const std::filesystem::path& directory, FileSystem& file_system,
                                  const Clock& clock) {
  Result<std::unique_ptr<File>> taken = take_lock(directory, file_system, clock);
  if (!taken) {
    return refused(taken.error());
  }
  return StoreLock(std::move(*taken));
}

Result<bool> StoreLock::held(const std::filesystem::path& directory, FileSystem& file_system) {
  auto opened = file_system.open(lock_path(directory), {.mode = OpenOptions::Mode::kReadOnly});
  if (!opened) {
    if (opened.error().code() == ErrorCode::kNotFound) {
      return false;
    }
    return opened.error();
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<std::int64_t> holder, (*opened)->lock_holder());
  return holder.has_value();
}

std::string StoreLock::owner(const std::filesystem::path& directory, FileSystem& file_system) {
  const auto stamp = read_stamp(directory, file_system);
  return stamp ? describe(*stamp) : std::string();
}

}  // namespace kerolox::storage
