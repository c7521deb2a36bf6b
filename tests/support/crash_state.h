// What a CrashFileSystem, its Files and its mappings share.
#pragma once

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/error.h"
#include "kerolox/base/mutex.h"
#include "support/crash_file_system.h"
#include "support/crash_names.h"

namespace kerolox {

// Which system call, and where.
struct CrashCall {
  std::string_view name;
  const std::filesystem::path& path;
  std::int64_t offset = -1;  // -1: not said

  std::string place() const;
  Error failed(int error_number) const;
};

struct CrashFileSystem::State {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint64_t kAnyGeneration = kNever;

  mutable Mutex mutex;  // guards all below
  CrashNames names;
  CallHook hook;
  std::uint64_t calls = 0;
  std::uint64_t syncs = 0;
  std::uint64_t boots = 1;
  std::uint64_t generation = 0;  // Files and mappings of an earlier one are dead
  std::uint64_t last_file = 0;
  bool frozen = false;

  // Ordinals of calls and syncs.
  std::uint64_t crash_call = kNever;
  std::uint64_t failing_call = kNever;
  std::uint64_t failing_sync = kNever;
  int failing_errno = 0;

  std::int64_t capacity_pages = std::numeric_limits<std::int64_t>::max();
  bool read_only = false;
  bool direct_supported = true;
  bool reserve_supported = true;
  std::vector<std::string> violations;

  // Counts the call and runs the hook. Returns its ordinal. Takes the mutex.
  std::uint64_t announce(std::string_view name);

  // The errno with which a call ends before it begins, if any; freezes at the crash point.
  // `injected` tells fail_call()'s from the rest.
  struct Refusal {
    int error_number;
    bool injected;
  };
  std::optional<Refusal> refusal(std::uint64_t ordinal, std::uint64_t caller_generation);

  // body() unless the call is refused; on_injected() first where fail_call() failed it. Both run
  // under the mutex.
  template <typename Body, typename OnInjected>
  auto run(const CrashCall& call, std::uint64_t caller_generation, Body body,
           OnInjected on_injected) -> decltype(body()) {
    const std::uint64_t ordinal = announce(call.name);
    MutexLock lock(mutex);
    if (const auto refused = refusal(ordinal, caller_generation); refused.has_value()) {
      if (refused->injected) {
        on_injected();
      }
      return call.failed(refused->error_number);
    }
    return body();
  }
  template <typename Body>
  auto run(const CrashCall& call, std::uint64_t caller_generation, Body body) -> decltype(body()) {
    return run(call, caller_generation, body, [] {});
  }

  std::int64_t pages_left();
  void gather_violations();
  // The running processes are dead: their mappings and Files do nothing from here on.
  void detach_processes();
};

// In crash_file.cc.
std::unique_ptr<File> make_crash_file(std::shared_ptr<CrashFileSystem::State> state,
                                      CrashInodePtr inode, std::filesystem::path path,
                                      OpenOptions options);

FileStatus crash_file_status(const CrashInode& inode);

}  // namespace kerolox
