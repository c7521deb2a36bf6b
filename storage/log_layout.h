// Which files make up a log: found, checked, in order; nothing opened or changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"

namespace kerolox::storage {

struct LogFileEntry {
  std::filesystem::path path;
  PhysicalOffset base;
};

struct LogLayout {
  std::int64_t file_bytes = 0;  // 0 if there is no file
  std::vector<LogFileEntry>
      files;  // ascending; a zero-length last file (Java's crash leaves one) is left out
  std::vector<std::filesystem::path> empty_files;  // that one

  // The file that holds `offset`, or nullptr.
  const LogFileEntry* file_of(PhysicalOffset offset) const;
};

// "00000000001073741824": twenty ASCII digits whatever the locale (W20).
std::string log_file_name(PhysicalOffset base);

// Lists the files in `directories`. `file_bytes` 0: whatever size they have. Errors: kNotFound if
// no directory exists; kInvalidArgument if `file_bytes` is not theirs, naming the option that opens
// it; kCorruption: a foreign name, a file of another length, a base that is no multiple of the
// size, the same base twice. A gap is no error here: recovery ends the log there.
Result<LogLayout> read_log_layout(const std::vector<std::filesystem::path>& directories,
                                  std::int64_t file_bytes, FileSystem& file_system);

// kUnsupported, naming what it found, if the store in `directory` keeps messages where we do not
// look: DLedger. With `for_writing` also if it holds what Java derived from the log and we would
// leave behind: RocksDB, BatchCQ, compaction, consume queue ext, LMQ queues, and (until we maintain
// them) consume queues or an index. All of these have a whole log, which can be read.
Result<void> check_supported(const std::filesystem::path& directory, bool for_writing,
                             FileSystem& file_system);

}  // namespace kerolox::storage
