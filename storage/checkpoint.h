// What the log remembers about itself between runs: `kerolox/checkpoint-a` and `-b`, written in
// turn, each with a sequence number and a checksum, so that a torn write leaves the other. Bytes on
// disk: storage/FORMAT.md, section "Checkpoint".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/queue_offsets.h"
#include "kerolox/storage/read_batch.h"

namespace kerolox::storage {

// A part of the log whose records carry a `__CRC32#` that we wrote: there a mismatch is rot.
struct OwnRange {
  PhysicalOffset begin;
  PhysicalOffset end;

  friend bool operator==(const OwnRange&, const OwnRange&) = default;
};

struct Checkpoint {
  std::int64_t file_bytes = 0;
  std::string boot_id;        // of the machine when this was written
  PhysicalOffset min_offset;  // where the log began: a file that is missing there was lost

  // Every byte of the log below is on disk. A record's end (or a file's begin). Recovery scans from
  // here.
  PhysicalOffset synced;
  // No byte at or above has ever been written: recovery clears up to here. Raised, synced, before
  // an append may pass it.
  PhysicalOffset written_limit;

  // The record that ends at `synced`, by its begin and the XXH3-64 of its bytes: if the log does
  // not hold it any more, somebody else wrote, and all of this is void. `last_record` is -1 for
  // none.
  PhysicalOffset last_record{-1};
  std::uint64_t last_record_hash = 0;

  std::int64_t last_store_timestamp_ms = 0;
  bool has_v2_records = false;
  bool clean = false;  // the log was closed; `synced` is its end
  // A truncation to here was begun: whatever the log holds above must go.
  std::optional<PhysicalOffset> cut_to;

  // How the next open learns that a Java broker wrote meanwhile: JavaFiles::checkpoint_hash() after
  // our last save_checkpoint(), and the process id that our create_abort() wrote. 0: none. Java
  // rewrites both whenever it runs; but process ids repeat (1 in every container), so an equal one
  // proves nothing.
  std::uint64_t java_checkpoint_hash = 0;
  std::int64_t abort_pid = 0;

  std::vector<OwnRange> own_ranges;            // ascending, disjoint
  std::vector<DamagedRange> quarantine;        // ascending
  std::vector<NextQueueOffset> queue_offsets;  // what the records below `synced` leave
};

// Threads: one at a time.
class CheckpointFiles {
 public:
  // `directory` is the store's `kerolox` folder; it must exist to save.
  CheckpointFiles(std::filesystem::path directory, FileSystem& file_system);

  // The newer of the valid copies, or nothing if there is none (missing or damaged). Changes
  // nothing on disk. Errors: kUnsupported for a newer format version; kPermission, kIoError.
  Result<std::optional<Checkpoint>> load();

  // Copies that the last load() found written but not valid. One is what a crash in save() leaves.
  // But a copy that rots later looks the same, and then the bounds of the other (`written_limit`)
  // may be too low: with a damaged copy, look further than they say.
  int damaged_copies() const { return damaged_copies_; }

  // Overwrites the older copy and syncs it (and, the first time, its name). After a crash either
  // this checkpoint or the one before is loaded. load() must have been called before the first
  // save(). Room for growth is written ahead, so that a full disk stops a save() only once the
  // checkpoint is half as large again as one that fitted. Errors: kNoSpace, kPermission, kIoError:
  // the copy before stays valid and save() may be called again; but once a sync has failed, every
  // later call fails with its cause (P4).
  Result<void> save(const Checkpoint& checkpoint);

 private:
  struct Copy {
    std::filesystem::path path;
    std::unique_ptr<File> file;  // kept open: the last checkpoint must not need a descriptor
  };
  Result<std::int64_t> open_copy(Copy& copy);
  Result<void> write_copy(Copy& copy);
  Result<void> sync_copy(Copy& copy);

  std::filesystem::path directory_;
  FileSystem& file_system_;
  std::array<Copy, 2> copies_;
  std::vector<std::byte> buffer_;  // the encoded checkpoint; capacity is kept
  std::uint64_t sequence_ = 0;     // of the newest copy
  std::size_t next_copy_ = 0;      // 0: -a, 1: -b
  int damaged_copies_ = 0;
  bool loaded_ = false;
  bool names_synced_ = false;
  std::optional<Error> sync_failure_;
};

}  // namespace kerolox::storage
