#include "support/crash_names.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

namespace kerolox {
namespace {

using Key = std::pair<const CrashInode*, std::string_view>;

std::vector<std::string> parts_of(const std::filesystem::path& path) {
  std::vector<std::string> parts;
  const std::string_view text = path.native();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    begin = end + 1;
    if (part == "..") {
      if (!parts.empty()) {
        parts.pop_back();
      }
    } else if (!part.empty() && part != ".") {
      parts.emplace_back(part);
    }
  }
  return parts;
}

void collect_files(const CrashInodePtr& directory, std::vector<CrashInodePtr>& files) {
  for (const auto& [name, inode] : directory->names) {
    inode->links = 1;
    if (inode->directory) {
      collect_files(inode, files);
    } else {
      files.push_back(inode);
    }
  }
}

void show_durable_names(const CrashInodePtr& directory) {
  directory->names = directory->durable_names;
  for (const auto& [name, inode] : directory->names) {
    if (inode->directory) {
      show_durable_names(inode);
    }
  }
}

}  // namespace

CrashNames::CrashNames() : root_(std::make_shared<CrashInode>()) {
  root_->number = last_number_;
  root_->directory = true;
  root_->links = 1;
}

CrashNames::Found CrashNames::find(const std::filesystem::path& path) const {
  CrashPlace place{.parent = root_, .name = "", .inode = root_};
  for (std::string& part : parts_of(path)) {
    if (place.inode == nullptr) {
      return {.error_number = ENOENT};
    }
    if (!place.inode->directory) {
      return {.error_number = ENOTDIR};
    }
    const CrashInodePtr parent = place.inode;
    const auto entry = parent->names.find(part);
    place = {.parent = parent,
             .name = std::move(part),
             .inode = entry == parent->names.end() ? nullptr : entry->second};
  }
  return {.place = std::move(place)};
}

void CrashNames::record(Operation operation) {
  for (const Change& change : operation.changes) {
    auto& names = change.directory->names;
    if (const auto old = names.find(change.name); old != names.end()) {
      old->second->links = 0;
      names.erase(old);
    }
    if (change.inode != nullptr) {
      names.emplace(change.name, change.inode);
      change.inode->links = 1;
    }
    if (std::ranges::find(operation.awaits_syncs, change.directory) ==
        operation.awaits_syncs.end()) {
      operation.awaits_syncs.push_back(change.directory);
    }
  }
  pending_.push_back(std::move(operation));
}

CrashInodePtr CrashNames::create(const CrashPlace& place, bool directory) {
  auto inode = std::make_shared<CrashInode>();
  inode->number = ++last_number_;
  inode->directory = directory;
  inodes_.push_back(inode);
  record({.changes = {{place.parent, place.name, inode}}});
  return inode;
}

void CrashNames::remove(const CrashPlace& place) {
  record({.changes = {{place.parent, place.name, nullptr}}});
}

void CrashNames::rename(const CrashPlace& from, const CrashPlace& to) {
  record({.changes = {{from.parent, from.name, nullptr}, {to.parent, to.name, from.inode}}});
}

void CrashNames::make_durable(const Operation& operation) {
  for (const Change& change : operation.changes) {
    auto& names = change.directory->durable_names;
    if (change.inode == nullptr) {
      names.erase(change.name);
    } else {
      names[change.name] = change.inode;
    }
  }
}

void CrashNames::sync(const CrashInodePtr& directory) {
  // Backwards: what an operation builds on (an earlier one of the same name) becomes durable with
  // it.
  std::set<Key> needed;
  std::vector<bool> durable(pending_.size());
  for (std::size_t i = pending_.size(); i-- > 0;) {
    Operation& operation = pending_[i];
    std::erase(operation.awaits_syncs, directory);
    durable[i] = operation.awaits_syncs.empty() ||
                 std::ranges::any_of(operation.changes, [&](const Change& change) {
                   return needed.contains({change.directory.get(), change.name});
                 });
    if (durable[i]) {
      for (const Change& change : operation.changes) {
        needed.insert({change.directory.get(), change.name});
      }
    }
  }
  std::vector<Operation> still_pending;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    if (durable[i]) {
      make_durable(pending_[i]);
    } else {
      still_pending.push_back(std::move(pending_[i]));
    }
  }
  pending_ = std::move(still_pending);
}

void CrashNames::power_cut(SeededRandom& random, std::uint64_t keep_in_256) {
  std::set<Key> undone;
  for (const Operation& operation : pending_) {
    const bool possible = std::ranges::none_of(operation.changes, [&](const Change& change) {
      return undone.contains({change.directory.get(), change.name});
    });
    if (possible && random.chance(keep_in_256, 256)) {
      make_durable(operation);
      continue;
    }
    for (const Change& change : operation.changes) {
      undone.insert({change.directory.get(), change.name});
    }
  }
  show_durable_names(root_);
  pending_.clear();
}

std::vector<CrashInodePtr> CrashNames::settle() {
  for (const auto& known : inodes_) {
    if (const CrashInodePtr inode = known.lock(); inode != nullptr) {
      inode->links = 0;
      inode->handles = 0;
      inode->lock_owner = 0;
    }
  }
  std::vector<CrashInodePtr> left;
  collect_files(root_, left);
  return left;
}

std::vector<CrashInodePtr> CrashNames::files() {
  std::erase_if(inodes_, [](const auto& known) { return known.expired(); });
  std::vector<CrashInodePtr> files;
  for (const auto& known : inodes_) {
    CrashInodePtr inode = known.lock();
    if (!inode->directory && (inode->links > 0 || inode->handles > 0)) {
      files.push_back(std::move(inode));
    }
  }
  return files;
}

}  // namespace kerolox
