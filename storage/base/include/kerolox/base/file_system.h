// Files, reached through an interface: the real file system, and in tests one that loses power,
// fails calls and forgets names as real ones do.
//
// Threads: every member may be called from any thread at once, except where a File member says
// otherwise. Blocking: every member may wait for the disk. Errors are Error::from_errno's unless
// said. Durability: what a call stores may be lost until the sync that is named in its comment
// returned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/result.h"

namespace kerolox {

struct FileStatus {
  std::int64_t bytes = 0;            // the length
  std::int64_t allocated_bytes = 0;  // what it occupies; less than `bytes` where it is sparse
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::int64_t link_count = 0;  // 0: its last name is gone
  bool directory = false;
};

// A shared mapping of a part of a file: stores to it appear in the file. A File's sync() makes them
// durable. Unmapped when destroyed; outlives its File. A store to a byte without a block is SIGBUS
// on a full disk: reserve() or write_at() it first.
class KEROLOX_API MappedRegion {
 public:
  virtual ~MappedRegion() = default;
  virtual std::span<std::byte> bytes() = 0;
  // Takes a range of whole pages out of this process's page table; the next touch brings it back.
  // Nothing that was stored is lost.
  virtual void forget(std::int64_t offset, std::int64_t bytes) = 0;
};

class KEROLOX_API File {
 public:
  virtual ~File() = default;

  // Reads until `into` is full or the file ends; returns the bytes read. Retries EINTR and short
  // reads. With OpenOptions::direct, offset, size and address must be multiples of
  // kDirectAlignment.
  virtual Result<std::size_t> read_at(std::int64_t offset, std::span<std::byte> into) = 0;

  // Writes all of `from` or fails; extends the file where needed. After an error any part may have
  // been written. Durable after sync().
  virtual Result<void> write_at(std::int64_t offset, std::span<const std::byte> from) = 0;

  // fdatasync: everything written or stored through a mapping before the call, and the length, is
  // on disk when it returns success. After a failure the lost writes may never be tried again, and
  // a later success says nothing about them: treat the file as failed (P4).
  virtual Result<void> sync() = 0;

  // Sets the length; new bytes are a hole that reads as zeros. Durable after sync().
  virtual Result<void> resize(std::int64_t bytes) = 0;

  // Gives [offset, offset + bytes) real blocks, so that writing there cannot run out of space.
  // Content and length stay as they are. kUnsupported where the file system cannot: write zeros
  // instead.
  virtual Result<void> reserve(std::int64_t offset, std::int64_t bytes) = 0;

  virtual Result<FileStatus> status() = 0;

  // The first offset >= `offset` that may hold data, or nothing if only a hole (zeros) follows. A
  // file system without SEEK_DATA answers `offset` itself while that lies in the file.
  virtual Result<std::optional<std::int64_t>> next_data(std::int64_t offset) = 0;

  // Lets go of what memory caches of the range and the disk has, so that its pages can be used
  // anew; reads fetch it from the disk again. Dirty pages stay, and pages that a region still
  // shows: MappedRegion::forget() comes first. A hint.
  virtual void forget(std::int64_t offset, std::int64_t bytes) = 0;

  // `offset` must be a multiple of the page size.
  virtual Result<std::unique_ptr<MappedRegion>> map(std::int64_t offset, std::int64_t bytes,
                                                    bool writable) = 0;

  // Takes an exclusive open-file-description lock on byte 0 (F_OFD_SETLK), without waiting. It
  // conflicts with the record lock that a Java broker takes and with any other open of the file, in
  // this process too; it goes with this File. False: somebody else holds it.
  virtual Result<bool> try_lock() = 0;

  // The process that holds that lock through another open, asked without taking it, or nothing if
  // nobody does. kUnknownProcess: the kernel does not say, as for a lock of try_lock()'s kind.
  virtual Result<std::optional<std::int64_t>> lock_holder() = 0;
  static constexpr std::int64_t kUnknownProcess = -1;
};

inline constexpr std::size_t kDirectAlignment = 4096;

struct OpenOptions {
  enum class Mode : std::uint8_t {
    kReadOnly,
    kReadWrite,     // must exist
    kCreateOrOpen,  // read and write; created empty if missing
    kCreateNew,     // read and write; an existing one is an error (kIoError, EEXIST)
  };
  Mode mode = Mode::kReadOnly;
  bool direct = false;  // O_DIRECT; kUnsupported where the file system has none (a file that the
                        // mode creates may stay behind)
};

struct DirectoryEntry {
  std::string name;
  bool directory = false;
};

struct SpaceStatus {
  std::int64_t total_bytes = 0;
  std::int64_t available_bytes = 0;  // to this user
};

class KEROLOX_API FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual Result<std::unique_ptr<File>> open(const std::filesystem::path& path,
                                             OpenOptions options) = 0;
  virtual Result<FileStatus> status(const std::filesystem::path& path) = 0;

  // Sorted by name, without "." and "..".
  virtual Result<std::vector<DirectoryEntry>> list(const std::filesystem::path& directory) = 0;

  // Makes the directory and its missing parents. Each new name is durable after sync_directory() of
  // its parent. An existing directory is no error.
  virtual Result<void> create_directories(const std::filesystem::path& directory) = 0;

  // Replaces `to` if it exists. Durable after sync_directory() of both parents.
  virtual Result<void> rename(const std::filesystem::path& from,
                              const std::filesystem::path& to) = 0;

  // Removes a file or an empty directory. Durable after sync_directory() of the parent.
  virtual Result<void> remove(const std::filesystem::path& path) = 0;

  // Makes the names in `directory` durable.
  virtual Result<void> sync_directory(const std::filesystem::path& directory) = 0;

  virtual Result<SpaceStatus> space(const std::filesystem::path& path) = 0;

  // Names this run of the machine: memory that was only written, not synced, is gone once it
  // changes. Where the machine does not tell, every call answers another value, so that a
  // comparison always says that it changed.
  virtual std::string boot_id() = 0;
};

// The machine's file system. Stateless, so one object serves every store.
KEROLOX_API FileSystem& posix_file_system();

}  // namespace kerolox
