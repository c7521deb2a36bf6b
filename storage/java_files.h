// The two files by which a Java broker decides how to recover: `checkpoint` and `abort`.
// Bytes on disk: storage/FORMAT.md, sections "checkpoint" and "abort".
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"

namespace kerolox::storage {

struct JavaCheckpoint {
  std::int64_t physic_timestamp_ms = 0;
  std::int64_t logics_timestamp_ms = 0;
  std::int64_t index_timestamp_ms = 0;
  PhysicalOffset master_flushed;
  PhysicalOffset confirm;
};

class JavaFiles {
 public:
  JavaFiles(std::filesystem::path directory, FileSystem& file_system);

  // Nothing if the file is missing; missing fields of older versions read as 0.
  Result<std::optional<JavaCheckpoint>> load_checkpoint();
  // Temporary file (in the `kerolox` folder, which must exist), sync, rename, directory sync; 4,096
  // bytes, as Java maps them.
  Result<void> save_checkpoint(const JavaCheckpoint& checkpoint);
  // What the file holds now, to compare with Checkpoint::java_checkpoint_hash: never 0 if there is
  // one, 0 if not.
  Result<std::uint64_t> checkpoint_hash();

  Result<bool> abort_exists();
  // The process id in `abort`, to compare with Checkpoint::abort_pid: nothing if there is no such
  // file, 0 if it holds anything else.
  Result<std::optional<std::int64_t>> abort_pid();
  // Our process id in decimal; synced, name and all. Returns it.
  Result<std::int64_t> create_abort();
  Result<void> remove_abort();  // synced; no error if there is none

 private:
  std::filesystem::path directory_;
  FileSystem& file_system_;
};

}  // namespace kerolox::storage
