#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "kerolox/base/file_system.h"
#include "storage/base/boot_id.h"
#include "storage/base/posix_file.h"
#include "storage/base/posix_status.h"

namespace kerolox {
namespace {

struct DirectoryCloser {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// One level; an existing directory is no error.
Result<void> make_directory(const std::filesystem::path& directory) {
  constexpr mode_t kOwnerWritesOthersRead = 0755;
  if (::mkdir(directory.c_str(), kOwnerWritesOthersRead) == 0) {
    return {};
  }
  const int error_number = errno;
  struct stat status;
  if (::stat(directory.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return {};
  }
  return Error::from_errno(error_number, "mkdir", directory.native());
}

// A symbolic link counts as what it leads to, as status() does.
bool names_directory(DIR* parent, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN && entry.d_type != DT_LNK) {
    return entry.d_type == DT_DIR;
  }
  struct stat status;
  // NOLINTNEXTLINE(clang-analyzer-unix.StdCLibraryFunctions): an open DIR has a descriptor
  return ::fstatat(::dirfd(parent), entry.d_name, &status, 0) == 0 && S_ISDIR(status.st_mode);
}

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::filesystem::path& path,
                                     OpenOptions options) override {
    return open_posix_file(path, options);
  }

  Result<FileStatus> status(const std::filesystem::path& path) override {
    return file_status(AT_FDCWD, path.c_str(), 0, path.native());
  }

  Result<std::vector<DirectoryEntry>> list(const std::filesystem::path& directory) override {
    const std::unique_ptr<DIR, DirectoryCloser> stream(::opendir(directory.c_str()));
    if (stream == nullptr) {
      return Error::from_errno(errno, "opendir", directory.native());
    }
    std::vector<DirectoryEntry> entries;
    for (;;) {
      errno = 0;  // readdir returns the same for "no more" and for "failed"
      const dirent* const entry = ::readdir(stream.get());
      if (entry == nullptr) {
        break;
      }
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") {
        entries.push_back({std::string(name), names_directory(stream.get(), *entry)});
      }
    }
    if (errno != 0) {
      return Error::from_errno(errno, "readdir", directory.native());
    }
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    return entries;
  }

  Result<void> create_directories(const std::filesystem::path& directory) override {
    Result<void> made = make_directory(directory);
    const std::filesystem::path parent = directory.parent_path();
    if (made || made.error().os_error() != ENOENT || parent.empty()) {
      return made;
    }
    KEROLOX_RETURN_IF_ERROR(create_directories(parent));
    return make_directory(directory);
  }

  Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) {
      const int error_number = errno;  // building the place may allocate, which may change it
      return Error::from_errno(error_number, "rename", from.native() + " to " + to.native());
    }
    return {};
  }

  Result<void> remove(const std::filesystem::path& path) override {
    if (::unlink(path.c_str()) == 0) {
      return {};
    }
    if (errno != EISDIR) {
      return Error::from_errno(errno, "unlink", path.native());
    }
    if (::rmdir(path.c_str()) != 0) {
      return Error::from_errno(errno, "rmdir", path.native());
    }
    return {};
  }

  Result<void> sync_directory(const std::filesystem::path& directory) override {
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) {
      return Error::from_errno(errno, "open", directory.native());
    }
    int result = ::fsync(fd.get());
    while (result != 0 && errno == EINTR) {
      result = ::fsync(fd.get());
    }
    if (result != 0) {
      return Error::from_errno(errno, "fsync", directory.native());
    }
    return {};
  }

  Result<SpaceStatus> space(const std::filesystem::path& path) override {
    struct statvfs status;
    if (::statvfs(path.c_str(), &status) != 0) {
      return Error::from_errno(errno, "statvfs", path.native());
    }
    return SpaceStatus{
        .total_bytes = static_cast<std::int64_t>(status.f_blocks * status.f_frsize),
        .available_bytes = static_cast<std::int64_t>(status.f_bavail * status.f_frsize)};
  }

  std::string boot_id() override { return read_boot_id("/proc/sys/kernel/random/boot_id"); }
};

}  // namespace

FileSystem& posix_file_system() {
  static PosixFileSystem file_system;
  return file_system;
}

}  // namespace kerolox
