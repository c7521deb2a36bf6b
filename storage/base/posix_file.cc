#include "storage/base/posix_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "storage/base/posix_status.h"

namespace kerolox {
namespace {

// Repeats a call that a signal interrupted; such a call did nothing.
template <typename Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) {
    result = call();
  }
  return result;
}

class PosixMappedRegion final : public MappedRegion {
 public:
  explicit PosixMappedRegion(std::span<std::byte> bytes) : bytes_(bytes) {}
  PosixMappedRegion(const PosixMappedRegion&) = delete;
  PosixMappedRegion& operator=(const PosixMappedRegion&) = delete;
  ~PosixMappedRegion() override { ::munmap(bytes_.data(), bytes_.size()); }

  std::span<std::byte> bytes() override { return bytes_; }
  void forget(std::int64_t offset, std::int64_t bytes) override {
    // Of a shared mapping: the pages stay in the page cache, and what is dirty stays dirty.
    ::madvise(bytes_.data() + offset, static_cast<std::size_t>(bytes), MADV_DONTNEED);
  }

 private:
  std::span<std::byte> bytes_;
};

// The lock that a Java broker takes: FileChannel.tryLock(0, 1, false) on the file.
struct flock first_byte() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 0;
  lock.l_len = 1;
  lock.l_pid = 0;  // the kernel refuses an OFD request that names a process
  return lock;
}

class PosixFile final : public File {
 public:
  PosixFile(std::string path, UniqueFd fd, bool direct)
      : path_(std::move(path)), fd_(std::move(fd)), direct_(direct) {}

  Result<std::size_t> read_at(std::int64_t offset, std::span<std::byte> into) override {
    std::size_t done = 0;
    while (done < into.size()) {
      const std::int64_t position = offset + static_cast<std::int64_t>(done);
      const ssize_t count = retry_interrupted(
          [&] { return ::pread(fd_.get(), into.data() + done, into.size() - done, position); });
      if (count < 0) {
        return failed_at("pread", position);
      }
      done += static_cast<std::size_t>(count);
      // A direct read stops inside a block only at the end of the file; going on from there would
      // be refused, since the position is not aligned.
      if (count == 0 || (direct_ && done % kDirectAlignment != 0)) {
        break;
      }
    }
    return done;
  }

  Result<void> write_at(std::int64_t offset, std::span<const std::byte> from) override {
    while (!from.empty()) {
      const ssize_t count =
          retry_interrupted([&] { return ::pwrite(fd_.get(), from.data(), from.size(), offset); });
      if (count <= 0) {
        // Nothing written and no error would make this loop spin.
        errno = count == 0 ? EIO : errno;
        return failed_at("pwrite", offset);
      }
      from = from.subspan(static_cast<std::size_t>(count));
      offset += count;
    }
    return {};
  }

  Result<void> sync() override {
    if (retry_interrupted([&] { return ::fdatasync(fd_.get()); }) != 0) {
      return failed("fdatasync");
    }
    return {};
  }

  Result<void> resize(std::int64_t bytes) override {
    if (retry_interrupted([&] { return ::ftruncate(fd_.get(), bytes); }) != 0) {
      return failed_at("ftruncate", bytes);
    }
    return {};
  }

  Result<void> reserve(std::int64_t offset, std::int64_t bytes) override {
    const int result = retry_interrupted(
        [&] { return ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, offset, bytes); });
    if (result == 0) {
      return {};
    }
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
      return Error(ErrorCode::kUnsupported,
                   "fallocate: this file system cannot reserve blocks without writing them")
          .at(place_at(offset));
    }
    return failed_at("fallocate", offset);
  }

  Result<FileStatus> status() override { return file_status(fd_.get(), "", AT_EMPTY_PATH, path_); }

  Result<std::optional<std::int64_t>> next_data(std::int64_t offset) override {
    // This moves the descriptor's own position, which nothing here reads.
    const off_t found = ::lseek(fd_.get(), offset, SEEK_DATA);
    if (found >= 0) {
      return std::optional<std::int64_t>(found);
    }
    if (errno == ENXIO) {
      return std::optional<std::int64_t>();
    }
    if (errno != EINVAL && errno != EOPNOTSUPP) {
      return failed_at("lseek(SEEK_DATA)", offset);
    }
    KEROLOX_ASSIGN_OR_RETURN(const FileStatus here, status());
    return offset < here.bytes ? std::optional<std::int64_t>(offset) : std::nullopt;
  }

  Result<std::unique_ptr<MappedRegion>> map(std::int64_t offset, std::int64_t bytes,
                                            bool writable) override {
    if (bytes <= 0) {
      return Error(ErrorCode::kInvalidArgument, "mmap: nothing to map")
          .at(place_at(offset))
          .with_number("bytes", bytes);
    }
    const auto size = static_cast<std::size_t>(bytes);
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void* const address = ::mmap(nullptr, size, protection, MAP_SHARED, fd_.get(), offset);
    if (address == MAP_FAILED) {
      return failed_at("mmap", offset);
    }
    return std::unique_ptr<MappedRegion>(
        std::make_unique<PosixMappedRegion>(std::span(static_cast<std::byte*>(address), size)));
  }

  void forget(std::int64_t offset, std::int64_t bytes) override {
    ::posix_fadvise(fd_.get(), offset, bytes, POSIX_FADV_DONTNEED);
  }

  Result<bool> try_lock() override {
    struct flock lock = first_byte();
    if (retry_interrupted([&] { return ::fcntl(fd_.get(), F_OFD_SETLK, &lock); }) == 0) {
      return true;
    }
    if (errno == EAGAIN || errno == EACCES) {
      return false;
    }
    return failed("fcntl(F_OFD_SETLK)");
  }

  Result<std::optional<std::int64_t>> lock_holder() override {
    struct flock lock = first_byte();
    if (retry_interrupted([&] { return ::fcntl(fd_.get(), F_OFD_GETLK, &lock); }) != 0) {
      return failed("fcntl(F_OFD_GETLK)");
    }
    if (lock.l_type == F_UNLCK) {
      return std::optional<std::int64_t>();
    }
    // 0: a process of a namespace that we do not see into.
    return std::optional<std::int64_t>(lock.l_pid > 0 ? lock.l_pid : kUnknownProcess);
  }

 private:
  std::string place_at(std::int64_t offset) const {
    return path_ + " at " + std::to_string(offset);
  }
  Error failed(std::string_view call) const { return Error::from_errno(errno, call, path_); }
  Error failed_at(std::string_view call, std::int64_t offset) const {
    const int error_number = errno;  // building the place may allocate, which may change it
    return Error::from_errno(error_number, call, place_at(offset));
  }

  const std::string path_;
  const UniqueFd fd_;
  const bool direct_;
};

int open_flags(OpenOptions options) {
  // O_NONBLOCK changes nothing for a file; it keeps a FIFO that lies in a file's place from
  // blocking the open for ever.
  int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  if (options.direct) {
    flags |= O_DIRECT;
  }
  switch (options.mode) {
    case OpenOptions::Mode::kReadOnly:
      return flags | O_RDONLY;
    case OpenOptions::Mode::kReadWrite:
      return flags | O_RDWR;
    case OpenOptions::Mode::kCreateOrOpen:
      return flags | O_RDWR | O_CREAT;
    case OpenOptions::Mode::kCreateNew:
      return flags | O_RDWR | O_CREAT | O_EXCL;
  }
  return flags;
}

}  // namespace

UniqueFd::~UniqueFd() {
  if (valid()) {
    ::close(fd_);
  }
}

Result<std::unique_ptr<File>> open_posix_file(const std::filesystem::path& path,
                                              OpenOptions options) {
  constexpr mode_t kOwnerWritesOthersRead = 0644;
  UniqueFd fd(retry_interrupted(
      [&] { return ::open(path.c_str(), open_flags(options), kOwnerWritesOthersRead); }));
  if (!fd.valid()) {
    if (errno == EINVAL && options.direct) {
      return Error(ErrorCode::kUnsupported, "open: this file system has no direct I/O (O_DIRECT)")
          .at(path.native());
    }
    return Error::from_errno(errno, "open", path.native());
  }
  return std::unique_ptr<File>(
      std::make_unique<PosixFile>(path.native(), std::move(fd), options.direct));
}

}  // namespace kerolox
