// A file system in memory that fails as machines fail: it is killed, loses power, forgets names,
// loses writes in a failed sync and hides that until they are read from the disk, and runs full.
// README.md in this folder lists the rules.
//
// Threads: any member from any thread; one lock inside. Stores through mappings are plain memory.
// Determinism: the same calls and seeds give the same outcome.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/file_system.h"

namespace kerolox {

enum class CrashKind : std::uint8_t {
  kProcessKill,  // cache and names stay; open files, locks and mappings go
  kPowerCut,     // what no sync covered may go, and the boot id changes
};

class CrashFileSystem final : public FileSystem {
 public:
  CrashFileSystem();
  CrashFileSystem(const CrashFileSystem&) = delete;
  CrashFileSystem& operator=(const CrashFileSystem&) = delete;
  ~CrashFileSystem() override;

  Result<std::unique_ptr<File>> open(const std::filesystem::path& path,
                                     OpenOptions options) override;
  Result<FileStatus> status(const std::filesystem::path& path) override;
  Result<std::vector<DirectoryEntry>> list(const std::filesystem::path& directory) override;
  Result<void> create_directories(const std::filesystem::path& directory) override;
  Result<void> rename(const std::filesystem::path& from, const std::filesystem::path& to) override;
  Result<void> remove(const std::filesystem::path& path) override;
  Result<void> sync_directory(const std::filesystem::path& directory) override;
  Result<SpaceStatus> space(const std::filesystem::path& path) override;
  std::string boot_id() override;

  // The machine or the process dies and is back at once. Files and mappings from before are inert:
  // calls answer EIO, stores go nowhere; so the objects of the dead process can be destroyed at
  // leisure. Clears crash_at() and the failures below. `seed` decides what a power cut leaves; seed
  // 0 leaves only what was synced, without garbage.
  void crash(CrashKind kind, std::uint64_t seed = 0);

  // From the `nth` call on (1: the next one) every call answers EIO and nothing changes any more,
  // stores through mappings included: what crash() then works on is the state at that point.
  void crash_at(std::uint64_t nth);
  bool crash_point_reached() const;

  // The `nth` File::sync() from now answers EIO. What it should have written is clean, but not on
  // disk: reads of the cache still show it, later syncs succeed without it.
  void fail_sync(std::uint64_t nth);
  // The `nth` call from now, of any kind, answers `error_number`. A write has written its first
  // half, a sync fails as with fail_sync(), any other call did nothing.
  void fail_call(std::uint64_t nth, int error_number);
  void clear_failures();

  // Calls of FileSystem and File since the start, boot_id() excepted.
  std::uint64_t calls_made() const;
  std::uint64_t syncs_made() const;  // of File::sync(), failed ones included

  // Runs before each call, without the lock, with the call's ordinal (calls_made() after it) and
  // its system call's name ("pwrite"). It may throw, to end a simulated process right there.
  using CallHook = std::function<void(std::uint64_t ordinal, std::string_view call)>;
  void set_call_hook(CallHook hook);

  // Clean pages leave the page cache, so that reads and mappings show what the disk holds.
  void evict();

  // Blocks are 4 KiB; what has them stays when this is lowered. Unlimited at first.
  void set_capacity(std::int64_t bytes);
  void set_read_only(bool read_only);  // EROFS for every change
  void set_direct_supported(bool supported);
  void set_reserve_supported(bool supported);

  // What the disk holds of a file, as long as its last synced length. Not a call.
  std::vector<std::byte> disk_content(const std::filesystem::path& path) const;
  // Replaces bytes of an existing file in cache and on disk, as a bad disk does. Not a call.
  void rot(const std::filesystem::path& path, std::int64_t offset,
           std::span<const std::byte> bytes);

  // Stores through mappings that would have been SIGBUS or SIGSEGV: to pages without a block, past
  // the end, through a read-only mapping. Seen at the next sync, crash, unmap or this call. Tests
  // expect none.
  std::vector<std::string> violations() const;

  struct State;

 private:
  const std::shared_ptr<State> state_;  // shared with Files and mappings, which may outlive this
};

}  // namespace kerolox
