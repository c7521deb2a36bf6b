// The names of a CrashFileSystem: the directories as running processes see them, and as the disk
// knows them. In between stands the list of changes that no directory sync has covered. Not
// thread-safe: CrashFileSystem locks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/result.h"
#include "support/crash_file_content.h"
#include "support/seeded_random.h"

namespace kerolox {

struct CrashInode {
  std::uint64_t number = 0;
  bool directory = false;
  int links = 0;                 // names that lead to it
  int handles = 0;               // Files and mappings
  std::uint64_t lock_owner = 0;  // the File that holds the lock; 0: none

  CrashFileContent content;

  using Names = std::map<std::string, std::shared_ptr<CrashInode>, std::less<>>;
  Names names;
  Names durable_names;
};

using CrashInodePtr = std::shared_ptr<CrashInode>;

// A path, taken apart: the directory that exists, and the last name in it.
struct CrashPlace {
  CrashInodePtr parent;  // the root's is itself
  std::string name;      // empty: the root
  CrashInodePtr inode;   // null: there is no such name
};

class CrashNames {
 public:
  CrashNames();

  // An errno: ENOENT or ENOTDIR where a directory on the way is missing or none.
  struct Found {
    CrashPlace place;
    int error_number = 0;
  };
  Found find(const std::filesystem::path& path) const;

  CrashInodePtr create(const CrashPlace& place, bool directory);
  void remove(const CrashPlace& place);
  void rename(const CrashPlace& from, const CrashPlace& to);
  void sync(const CrashInodePtr& directory);

  // Each change that is not durable happens or does not, by `random`; a change of a name needs the
  // changes of that name before it. Then running processes see what the disk knows.
  void power_cut(SeededRandom& random, std::uint64_t keep_in_256);
  // After a crash: no handles, no locks; forgets what no name leads to. Returns the files left, in
  // the order of their paths.
  std::vector<CrashInodePtr> settle();

  // Every file that has a name or is open.
  std::vector<CrashInodePtr> files();

 private:
  struct Change {
    CrashInodePtr directory;
    std::string name;
    CrashInodePtr inode;  // null: the name goes
  };
  struct Operation {
    std::vector<Change> changes;              // all or none
    std::vector<CrashInodePtr> awaits_syncs;  // of these directories, to be durable
  };

  static void make_durable(const Operation& operation);
  void record(Operation operation);

  CrashInodePtr root_;
  std::vector<Operation> pending_;  // in order
  std::vector<std::weak_ptr<CrashInode>> inodes_;
  std::uint64_t last_number_ = 1;
};

}  // namespace kerolox
