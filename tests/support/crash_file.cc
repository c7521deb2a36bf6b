#include <algorithm>
#include <cerrno>
#include <utility>

#include "support/crash_state.h"

namespace kerolox {
namespace {

using State = CrashFileSystem::State;

class CrashMappedRegion final : public MappedRegion {
 public:
  CrashMappedRegion(std::shared_ptr<State> state, CrashInodePtr inode, std::int64_t offset,
                    std::int64_t bytes, bool writable)
      : state_(std::move(state)),
        inode_(std::move(inode)),
        memory_(inode_->content.memory()),
        bytes_(memory_->data() + offset, static_cast<std::size_t>(bytes)),
        mapping_(inode_->content.map(offset, bytes, writable)),
        generation_(state_->generation) {
    ++inode_->handles;
  }
  CrashMappedRegion(const CrashMappedRegion&) = delete;
  CrashMappedRegion& operator=(const CrashMappedRegion&) = delete;
  ~CrashMappedRegion() override {
    MutexLock lock(state_->mutex);
    if (generation_ == state_->generation) {
      inode_->content.unmap(mapping_);
      state_->gather_violations();
      --inode_->handles;
    }
  }

  std::span<std::byte> bytes() override { return bytes_; }
  void forget(std::int64_t /*offset*/, std::int64_t /*bytes*/) override {}

 private:
  const std::shared_ptr<State> state_;
  const CrashInodePtr inode_;
  const std::shared_ptr<CrashMemory> memory_;  // stays mapped after a crash took the file away
  const std::span<std::byte> bytes_;
  const std::uint64_t mapping_;
  const std::uint64_t generation_;
};

bool aligned(std::int64_t offset, std::span<const std::byte> bytes) {
  return offset % static_cast<std::int64_t>(kDirectAlignment) == 0 &&
         bytes.size() % kDirectAlignment == 0 &&
         reinterpret_cast<std::uintptr_t>(bytes.data()) % kDirectAlignment == 0;
}

class CrashFile final : public File {
 public:
  CrashFile(std::shared_ptr<State> state, CrashInodePtr inode, std::filesystem::path path,
            OpenOptions options)
      : state_(std::move(state)),
        inode_(std::move(inode)),
        path_(std::move(path)),
        writable_(options.mode != OpenOptions::Mode::kReadOnly),
        direct_(options.direct),
        id_(++state_->last_file),
        generation_(state_->generation) {
    ++inode_->handles;
  }
  CrashFile(const CrashFile&) = delete;
  CrashFile& operator=(const CrashFile&) = delete;
  ~CrashFile() override {
    MutexLock lock(state_->mutex);
    if (generation_ == state_->generation) {
      --inode_->handles;
      if (inode_->lock_owner == id_) {
        inode_->lock_owner = 0;
      }
    }
  }

  Result<std::size_t> read_at(std::int64_t offset, std::span<std::byte> into) override {
    const CrashCall call{"pread", path_, offset};
    return run(call, [&]() -> Result<std::size_t> {
      if (offset < 0 || (direct_ && !aligned(offset, into))) {
        return call.failed(EINVAL);
      }
      return direct_ ? content().read_direct(offset, into) : content().read(offset, into);
    });
  }

  Result<void> write_at(std::int64_t offset, std::span<const std::byte> from) override {
    const CrashCall call{"pwrite", path_, offset};
    return state_->run(
        call, generation_, [&]() -> Result<void> { return write(call, offset, from); },
        [&] { static_cast<void>(write(call, offset, from.first(from.size() / 2))); });
  }

  Result<void> sync() override {
    const CrashCall call{"fdatasync", path_};
    return state_->run(
        call, generation_,
        [&]() -> Result<void> {
          if (++state_->syncs == state_->failing_sync) {
            content().lose_dirty();
            return call.failed(EIO);
          }
          content().sync();
          return {};
        },
        [&] {
          ++state_->syncs;
          content().lose_dirty();
        });
  }

  Result<void> resize(std::int64_t bytes) override {
    const CrashCall call{"ftruncate", path_, bytes};
    return run(call, [&]() -> Result<void> {
      if (!writable_ || bytes < 0) {
        return call.failed(EINVAL);
      }
      if (bytes > kCrashFileBytesMax) {
        return call.failed(EFBIG);
      }
      content().resize(bytes);
      return {};
    });
  }

  Result<void> reserve(std::int64_t offset, std::int64_t bytes) override {
    const CrashCall call{"fallocate", path_, offset};
    return run(call, [&]() -> Result<void> {
      if (const int refused = refused_range(offset, bytes); refused != 0) {
        return call.failed(refused);
      }
      if (bytes == 0) {
        return call.failed(EINVAL);
      }
      if (!state_->reserve_supported) {
        return Error(ErrorCode::kUnsupported, "fallocate: this file system cannot reserve blocks")
            .at(call.place());
      }
      // All or nothing, as a file system that counts first.
      const std::int64_t left = state_->pages_left();
      if (content().pages_missing(offset, bytes) > left) {
        return call.failed(ENOSPC);
      }
      content().allocate(offset, bytes, left);
      return {};
    });
  }

  void forget(std::int64_t offset, std::int64_t bytes) override {
    static_cast<void>(run({"posix_fadvise", path_, offset}, [&]() -> Result<void> {
      content().evict(offset, offset + bytes);
      return {};
    }));
  }

  Result<FileStatus> status() override {
    return run({"fstat", path_},
               [&]() -> Result<FileStatus> { return crash_file_status(*inode_); });
  }

  Result<std::optional<std::int64_t>> next_data(std::int64_t offset) override {
    return run({"lseek(SEEK_DATA)", path_, offset}, [&]() -> Result<std::optional<std::int64_t>> {
      return offset < 0 ? std::nullopt : content().next_data(offset);
    });
  }

  Result<std::unique_ptr<MappedRegion>> map(std::int64_t offset, std::int64_t bytes,
                                            bool writable) override {
    const CrashCall call{"mmap", path_, offset};
    return run(call, [&]() -> Result<std::unique_ptr<MappedRegion>> {
      if (bytes <= 0) {
        return Error(ErrorCode::kInvalidArgument, "mmap: nothing to map").at(call.place());
      }
      if (offset < 0 || offset % kCrashPageBytes != 0) {
        return call.failed(EINVAL);
      }
      if (writable && !writable_) {
        return call.failed(EACCES);
      }
      if (offset > kCrashFileBytesMax - bytes) {
        return call.failed(ENOMEM);
      }
      return std::unique_ptr<MappedRegion>(
          std::make_unique<CrashMappedRegion>(state_, inode_, offset, bytes, writable));
    });
  }

  Result<bool> try_lock() override {
    const CrashCall call{"fcntl(F_OFD_SETLK)", path_};
    return run(call, [&]() -> Result<bool> {
      if (!writable_) {
        return call.failed(EBADF);
      }
      if (inode_->lock_owner == 0) {
        inode_->lock_owner = id_;
      }
      return inode_->lock_owner == id_;
    });
  }

  Result<std::optional<std::int64_t>> lock_holder() override {
    return run({"fcntl(F_OFD_GETLK)", path_}, [&]() -> Result<std::optional<std::int64_t>> {
      const bool held = inode_->lock_owner != 0 && inode_->lock_owner != id_;
      return held ? std::optional(kUnknownProcess) : std::nullopt;
    });
  }

 private:
  CrashFileContent& content() { return inode_->content; }

  template <typename Body>
  auto run(const CrashCall& call, Body body) -> decltype(body()) {
    return state_->run(call, generation_, body);
  }

  int refused_range(std::int64_t offset, std::int64_t bytes) const {
    if (!writable_) {
      return EBADF;
    }
    if (offset < 0 || bytes < 0) {
      return EINVAL;
    }
    return offset > kCrashFileBytesMax - bytes ? EFBIG : 0;
  }

  Result<void> write(const CrashCall& call, std::int64_t offset, std::span<const std::byte> from) {
    const auto bytes = static_cast<std::int64_t>(from.size());
    if (const int refused = refused_range(offset, bytes); refused != 0) {
      return call.failed(refused);
    }
    if (direct_ && !aligned(offset, from)) {
      return call.failed(EINVAL);
    }
    if (bytes == 0) {
      return {};
    }
    const std::int64_t fits = content().allocate(offset, bytes, state_->pages_left());
    content().write(offset, from.first(static_cast<std::size_t>(fits)));
    return fits < bytes ? Result<void>(call.failed(ENOSPC)) : Result<void>();
  }

  const std::shared_ptr<State> state_;
  const CrashInodePtr inode_;
  const std::filesystem::path path_;
  const bool writable_;
  const bool direct_;
  const std::uint64_t id_;
  const std::uint64_t generation_;
};

}  // namespace

std::unique_ptr<File> make_crash_file(std::shared_ptr<CrashFileSystem::State> state,
                                      CrashInodePtr inode, std::filesystem::path path,
                                      OpenOptions options) {
  return std::make_unique<CrashFile>(std::move(state), std::move(inode), std::move(path), options);
}

FileStatus crash_file_status(const CrashInode& inode) {
  return {.bytes = inode.content.bytes(),
          .allocated_bytes = inode.content.allocated_pages() * kCrashPageBytes,
          .inode = inode.number,
          .device = 1,
          .link_count = inode.links,
          .directory = inode.directory};
}

}  // namespace kerolox
