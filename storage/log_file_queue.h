// The row of files of a log that is open for writing: which file holds an offset, the file that is
// being filled, the next one in waiting, and what must be synced where.
//
// The next file waits as `kerolox/spare/next`, with its full length and its first blocks, and gets
// its name in `commitlog` at the roll: a Java broker that is started by mistake deletes files there
// before it looks at the lock.
//
// Threads: roll() and prepare_active() inside the append's critical section; prepare_ahead() and
// forget() on one other thread beside them; flush() on one; file_at() on any.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/base/mutex.h"
#include "kerolox/base/result.h"
#include "storage/log_layout.h"
#include "storage/mapped_log_file.h"

namespace kerolox::storage {

class LogFileQueue {
 public:
  struct Options {
    std::filesystem::path log_directory;
    std::filesystem::path spare_directory;
    std::int64_t file_bytes = 0;
    PrepareMode prepare_mode = PrepareMode::kReserve;
  };

  // `layout` as recovery left it; the log ends at `end`, with zeros behind it. Removes a spare file
  // that a dead process left.
  static Result<std::unique_ptr<LogFileQueue>> open(Options options, const LogLayout& layout,
                                                    PhysicalOffset end, FileSystem& file_system);

  std::int64_t file_bytes() const { return options_.file_bytes; }
  bool empty() const;
  PhysicalOffset min_offset() const;  // 0 for an empty log
  LogLayout layout() const;

  // The file to fill, or nullptr in an empty log. Stays valid until truncate().
  LogFile* active() const { return active_.load(std::memory_order_acquire); }
  // Starts the file with that base behind the active one (or, in an empty log, the first). Files
  // that `filled` has not passed keep their memory: a copy into them may be under way.
  Result<void> roll(PhysicalOffset base, PhysicalOffset filled);
  // Makes [.., end) of the active file safe to fill.
  Result<void> prepare_active(PhysicalOffset end);

  // One bounded step of preparing blocks up to `until` and, if that lies behind the active file,
  // the next file. False: nothing to do. Errors as LogFile::prepare().
  Result<bool> prepare_ahead(PhysicalOffset until);
  // One past the last byte that may be filled without a further step, the next file included.
  PhysicalOffset prepared_offset();
  std::int64_t prepared_bytes_total() const { return prepared_total_.load(); }
  std::int64_t rolls() const { return rolls_.load(); }

  // One bounded step of letting go, in memory, of what lies below `below`, which is on disk. False:
  // nothing to do.
  bool forget(PhysicalOffset below);

  // Makes [from, to) durable, names included, and checks that the files still are where they were.
  Result<void> flush(PhysicalOffset from, PhysicalOffset to);

  // The file that holds `offset`, or nullptr.
  std::shared_ptr<LogFile> file_at(PhysicalOffset offset) const {
    MutexLock lock(files_mutex_);
    return find(offset);
  }

  // Removes what lies at and above `end`, durably: zeroes the rest of its file, unlinks later ones.
  // No append, flush or preparation may run.
  Result<void> truncate(PhysicalOffset end);

  // At a clean stop: the file in waiting goes.
  Result<void> remove_spare();

 private:
  struct Entry {
    std::shared_ptr<MappedLogFile> file;
    bool name_durable = true;
  };

  LogFileQueue(Options options, FileSystem& file_system);
  Result<void> open_files(const LogLayout& layout, PhysicalOffset end);
  Result<std::unique_ptr<MappedLogFile>> open_file(const std::filesystem::path& path,
                                                   PhysicalOffset base, std::int64_t used_bytes,
                                                   bool mapped);
  Result<void> make_spare() KEROLOX_REQUIRES(prepare_mutex_);
  std::shared_ptr<MappedLogFile> find(PhysicalOffset offset) const KEROLOX_REQUIRES(files_mutex_);
  void release_memory_below(PhysicalOffset filled) KEROLOX_REQUIRES(files_mutex_);
  std::vector<std::shared_ptr<MappedLogFile>> files_between(PhysicalOffset from, PhysicalOffset to);
  Result<void> sync_directories();
  Result<void> make_names_durable(PhysicalOffset from, PhysicalOffset to);
  std::filesystem::path spare_path() const { return options_.spare_directory / "next"; }

  const Options options_;
  FileSystem& file_system_;
  std::atomic<std::int64_t> prepared_total_{0};
  std::atomic<std::int64_t> rolls_{0};
  std::atomic<MappedLogFile*> active_{nullptr};

  Mutex prepare_mutex_;
  std::unique_ptr<MappedLogFile> spare_ KEROLOX_GUARDED_BY(prepare_mutex_);

  mutable Mutex files_mutex_;
  std::vector<Entry> files_ KEROLOX_GUARDED_BY(files_mutex_);  // ascending
  PhysicalOffset forgotten_ KEROLOX_GUARDED_BY(files_mutex_);  // of this run's bytes, up to here
};

}  // namespace kerolox::storage
