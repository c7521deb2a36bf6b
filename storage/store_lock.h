// One process at a time: the lock file that a Java broker respects, too, and a stamp that says
// whose it is. Bytes on disk: storage/FORMAT.md, sections "lock" and "Owner stamp".
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "kerolox/base/clock.h"
#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"

namespace kerolox::storage {

class StoreLock {
 public:
  // Takes the lock on byte 0 of `directory`/lock (an OFD lock: a lock left by a dead process is
  // free) and writes the four bytes "lock" and the owner stamp `kerolox/owner`. Creates `directory`
  // and its `kerolox` folder if missing: nothing else of the store is touched before the lock is
  // held. Errors: kLocked, naming the owner by its stamp; kPermission; kNoSpace; kIoError.
  static Result<StoreLock> take(const std::filesystem::path& directory, FileSystem& file_system,
                                const Clock& clock);

  // Whether another process (or another open in this one) holds it, without taking it.
  static Result<bool> held(const std::filesystem::path& directory, FileSystem& file_system);
  // Who took it last, by the stamp, which stays when the lock is gone (and a Java broker leaves
  // none): "pid 123 on HOST since 2026-01-01T00:00:00Z", or empty if there is no stamp.
  static std::string owner(const std::filesystem::path& directory, FileSystem& file_system);

 private:
  explicit StoreLock(std::unique_ptr<File> file);
  std::unique_ptr<File> file_;  // closing it releases the lock
};

}  // namespace kerolox::storage
