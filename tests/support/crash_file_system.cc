#include "support/crash_file_system.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "kerolox/base/check.h"
#include "support/crash_state.h"

namespace kerolox {

std::string CrashCall::place() const {
  return offset < 0 ? path.native() : path.native() + " at " + std::to_string(offset);
}

Error CrashCall::failed(int error_number) const {
  return Error::from_errno(error_number, name, place());
}

std::uint64_t CrashFileSystem::State::announce(std::string_view name) {
  CallHook hook_now;
  std::uint64_t ordinal = 0;
  {
    MutexLock lock(mutex);
    ordinal = ++calls;
    hook_now = hook;
  }
  if (hook_now) {
    hook_now(ordinal, name);
  }
  return ordinal;
}

std::optional<CrashFileSystem::State::Refusal> CrashFileSystem::State::refusal(
    std::uint64_t ordinal, std::uint64_t caller_generation) {
  if (ordinal >= crash_call && !frozen) {
    detach_processes();
    frozen = true;
  }
  const bool dead = caller_generation != kAnyGeneration && caller_generation != generation;
  if (frozen || dead) {
    return Refusal{EIO, false};
  }
  if (ordinal == failing_call) {
    return Refusal{failing_errno, true};
  }
  return std::nullopt;
}

std::int64_t CrashFileSystem::State::pages_left() {
  std::int64_t left = capacity_pages;
  if (left != std::numeric_limits<std::int64_t>::max()) {
    for (const CrashInodePtr& file : names.files()) {
      left -= file->content.allocated_pages();
    }
  }
  return std::max<std::int64_t>(left, 0);
}

void CrashFileSystem::State::gather_violations() {
  for (const CrashInodePtr& file : names.files()) {
    for (std::string& violation : file->content.violations()) {
      violations.push_back("file " + std::to_string(file->number) + ": " + violation);
    }
    file->content.violations().clear();
  }
}

void CrashFileSystem::State::detach_processes() {
  for (const CrashInodePtr& file : names.files()) {
    file->content.detach();
  }
  gather_violations();
  ++generation;
}

CrashFileSystem::CrashFileSystem() : state_(std::make_shared<State>()) {}
CrashFileSystem::~CrashFileSystem() = default;

Result<std::unique_ptr<File>> CrashFileSystem::open(const std::filesystem::path& path,
                                                    OpenOptions options) {
  using Mode = OpenOptions::Mode;
  const CrashCall call{"open", path};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<std::unique_ptr<File>> {
    auto [place, error_number] = state_->names.find(path);
    if (error_number != 0) {
      return call.failed(error_number);
    }
    const bool creates = options.mode == Mode::kCreateOrOpen || options.mode == Mode::kCreateNew;
    if (place.inode == nullptr && !creates) {
      return call.failed(ENOENT);
    }
    if (place.inode != nullptr && options.mode == Mode::kCreateNew) {
      return call.failed(EEXIST);
    }
    if (place.inode != nullptr && place.inode->directory) {
      return call.failed(EISDIR);
    }
    if (state_->read_only && options.mode != Mode::kReadOnly) {
      return call.failed(EROFS);
    }
    if (options.direct && !state_->direct_supported) {
      return Error(ErrorCode::kUnsupported, "open: this file system has no direct I/O (O_DIRECT)")
          .at(path.native());
    }
    if (place.inode == nullptr) {
      place.inode = state_->names.create(place, false);
    }
    return make_crash_file(state_, place.inode, path, options);
  });
}

Result<FileStatus> CrashFileSystem::status(const std::filesystem::path& path) {
  const CrashCall call{"stat", path};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<FileStatus> {
    const auto [place, error_number] = state_->names.find(path);
    if (error_number != 0 || place.inode == nullptr) {
      return call.failed(error_number != 0 ? error_number : ENOENT);
    }
    place.inode->content.observe();  // so that the blocks of mapped stores are counted
    return crash_file_status(*place.inode);
  });
}

Result<std::vector<DirectoryEntry>> CrashFileSystem::list(const std::filesystem::path& directory) {
  const CrashCall call{"opendir", directory};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<std::vector<DirectoryEntry>> {
    const auto [place, error_number] = state_->names.find(directory);
    if (error_number != 0 || place.inode == nullptr) {
      return call.failed(error_number != 0 ? error_number : ENOENT);
    }
    if (!place.inode->directory) {
      return call.failed(ENOTDIR);
    }
    std::vector<DirectoryEntry> entries;
    for (const auto& [name, inode] : place.inode->names) {
      entries.push_back({name, inode->directory});
    }
    return entries;
  });
}

Result<void> CrashFileSystem::create_directories(const std::filesystem::path& directory) {
  const CrashCall call{"mkdir", directory};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<void> {
    std::filesystem::path level;
    for (const std::filesystem::path& part : directory) {
      level /= part;
      const auto [place, error_number] = state_->names.find(level);
      if (error_number != 0) {
        return call.failed(error_number);
      }
      if (place.inode == nullptr && state_->read_only) {
        return call.failed(EROFS);
      }
      if (place.inode == nullptr) {
        state_->names.create(place, true);
      } else if (!place.inode->directory) {
        return call.failed(level == directory ? EEXIST : ENOTDIR);
      }
    }
    return {};
  });
}

namespace {

// The errno with which rename(2) refuses, or 0.
int rename_refusal(const CrashPlace& from, const CrashPlace& to) {
  if (from.inode == nullptr || from.name.empty() || to.name.empty()) {
    return from.inode == nullptr ? ENOENT : EBUSY;
  }
  if (to.inode == nullptr) {
    return 0;
  }
  if (to.inode->directory != from.inode->directory) {
    return to.inode->directory ? EISDIR : ENOTDIR;
  }
  return to.inode->names.empty() ? 0 : ENOTEMPTY;
}

// Whether `inside` is `directory` or lies below it.
bool lies_in(const CrashInodePtr& inside, const CrashInodePtr& directory) {
  if (inside == directory) {
    return true;
  }
  return std::ranges::any_of(directory->names, [&](const auto& entry) {
    return entry.second->directory && lies_in(inside, entry.second);
  });
}

}  // namespace

Result<void> CrashFileSystem::rename(const std::filesystem::path& from,
                                     const std::filesystem::path& to) {
  const std::filesystem::path both = from.native() + " to " + to.native();
  const CrashCall call{"rename", both};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<void> {
    const auto [source, source_error] = state_->names.find(from);
    const auto [target, target_error] = state_->names.find(to);
    if (source_error != 0 || target_error != 0) {
      return call.failed(source_error != 0 ? source_error : target_error);
    }
    if (const int refused = rename_refusal(source, target); refused != 0) {
      return call.failed(refused);
    }
    if (state_->read_only) {
      return call.failed(EROFS);
    }
    if (source.inode->directory && lies_in(target.parent, source.inode)) {
      return call.failed(EINVAL);
    }
    if (source.inode != target.inode) {
      state_->names.rename(source, target);
    }
    return {};
  });
}

Result<void> CrashFileSystem::remove(const std::filesystem::path& path) {
  const CrashCall call{"unlink", path};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<void> {
    const auto [place, error_number] = state_->names.find(path);
    if (error_number != 0 || place.inode == nullptr) {
      return call.failed(error_number != 0 ? error_number : ENOENT);
    }
    if (state_->read_only) {
      return call.failed(EROFS);
    }
    if (place.name.empty() || !place.inode->names.empty()) {
      return call.failed(place.name.empty() ? EBUSY : ENOTEMPTY);
    }
    state_->names.remove(place);
    return {};
  });
}

Result<void> CrashFileSystem::sync_directory(const std::filesystem::path& directory) {
  const CrashCall call{"fsync", directory};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<void> {
    const auto [place, error_number] = state_->names.find(directory);
    if (error_number != 0 || place.inode == nullptr) {
      return call.failed(error_number != 0 ? error_number : ENOENT);
    }
    if (!place.inode->directory) {
      return call.failed(ENOTDIR);
    }
    state_->names.sync(place.inode);
    return {};
  });
}

Result<SpaceStatus> CrashFileSystem::space(const std::filesystem::path& path) {
  const CrashCall call{"statvfs", path};
  return state_->run(call, State::kAnyGeneration, [&]() -> Result<SpaceStatus> {
    const auto [place, error_number] = state_->names.find(path);
    if (error_number != 0 || place.inode == nullptr) {
      return call.failed(error_number != 0 ? error_number : ENOENT);
    }
    constexpr std::int64_t kPagesMost = std::int64_t{1} << 40;
    return SpaceStatus{
        .total_bytes = std::min(state_->capacity_pages, kPagesMost) * kCrashPageBytes,
        .available_bytes = std::min(state_->pages_left(), kPagesMost) * kCrashPageBytes};
  });
}

std::string CrashFileSystem::boot_id() {
  MutexLock lock(state_->mutex);
  return "simulated-boot-" + std::to_string(state_->boots);
}

void CrashFileSystem::crash(CrashKind kind, std::uint64_t seed) {
  clear_failures();
  MutexLock lock(state_->mutex);
  state_->detach_processes();
  state_->frozen = false;
  state_->crash_call = State::kNever;
  if (kind == CrashKind::kProcessKill) {
    state_->names.settle();
    return;
  }
  ++state_->boots;
  SeededRandom random(seed);
  // Cuts that leave little, half and most reach different states of a store.
  constexpr std::uint64_t kChances[] = {16, 128, 240};
  const std::uint64_t names_chance = seed == 0 ? 0 : kChances[random.below(3)];
  state_->names.power_cut(random, names_chance);
  for (const CrashInodePtr& file : state_->names.settle()) {
    PowerCut cut{.random = SeededRandom(seed ^ (file->number << 32)),
                 .keep_in_256 = seed == 0 ? 0 : kChances[random.below(3)],
                 .garbage = seed != 0};
    file->content.power_cut(cut);
  }
}

void CrashFileSystem::crash_at(std::uint64_t nth) {
  MutexLock lock(state_->mutex);
  state_->crash_call = state_->calls + nth;
}

bool CrashFileSystem::crash_point_reached() const {
  MutexLock lock(state_->mutex);
  return state_->frozen;
}

void CrashFileSystem::fail_sync(std::uint64_t nth) {
  MutexLock lock(state_->mutex);
  state_->failing_sync = state_->syncs + nth;
}

void CrashFileSystem::fail_call(std::uint64_t nth, int error_number) {
  MutexLock lock(state_->mutex);
  state_->failing_call = state_->calls + nth;
  state_->failing_errno = error_number;
}

void CrashFileSystem::clear_failures() {
  MutexLock lock(state_->mutex);
  state_->failing_call = State::kNever;
  state_->failing_sync = State::kNever;
}

std::uint64_t CrashFileSystem::calls_made() const {
  MutexLock lock(state_->mutex);
  return state_->calls;
}

std::uint64_t CrashFileSystem::syncs_made() const {
  MutexLock lock(state_->mutex);
  return state_->syncs;
}

void CrashFileSystem::set_call_hook(CallHook hook) {
  MutexLock lock(state_->mutex);
  state_->hook = std::move(hook);
}

void CrashFileSystem::evict() {
  MutexLock lock(state_->mutex);
  for (const CrashInodePtr& file : state_->names.files()) {
    file->content.evict(0, std::numeric_limits<std::int64_t>::max());
  }
}

void CrashFileSystem::set_capacity(std::int64_t bytes) {
  MutexLock lock(state_->mutex);
  state_->capacity_pages = bytes / kCrashPageBytes;
}

void CrashFileSystem::set_read_only(bool read_only) {
  MutexLock lock(state_->mutex);
  state_->read_only = read_only;
}

void CrashFileSystem::set_direct_supported(bool supported) {
  MutexLock lock(state_->mutex);
  state_->direct_supported = supported;
}

void CrashFileSystem::set_reserve_supported(bool supported) {
  MutexLock lock(state_->mutex);
  state_->reserve_supported = supported;
}

std::vector<std::byte> CrashFileSystem::disk_content(const std::filesystem::path& path) const {
  MutexLock lock(state_->mutex);
  const auto [place, error_number] = state_->names.find(path);
  KEROLOX_CHECK(error_number == 0 && place.inode != nullptr && !place.inode->directory);
  return place.inode->content.disk();
}

void CrashFileSystem::rot(const std::filesystem::path& path, std::int64_t offset,
                          std::span<const std::byte> bytes) {
  MutexLock lock(state_->mutex);
  const auto [place, error_number] = state_->names.find(path);
  KEROLOX_CHECK(error_number == 0 && place.inode != nullptr && !place.inode->directory);
  place.inode->content.rot(offset, bytes);
}

std::vector<std::string> CrashFileSystem::violations() const {
  MutexLock lock(state_->mutex);
  for (const CrashInodePtr& file : state_->names.files()) {
    file->content.observe();
  }
  state_->gather_violations();
  return state_->violations;
}

}  // namespace kerolox
