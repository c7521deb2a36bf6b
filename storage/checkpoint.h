// What the log remembers about itself between runs: `kerolox/checkpoint-a` and `-b`, written in
// turn, each with a sequence number and a checksum, so that a torn write leaves the other. Bytes on
// disk: storage/FORMAT.md, section "Checkpoint".
#pragma once

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
  std::string boot_id;  // of the machine when this was written

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

  std::vector<OwnRange> own_ranges;            // ascending, disjoint
  std::vector<DamagedRange> quarantine;        // ascending
  std::vector<NextQueueOffset> queue_offsets;  // what the records below `synced` leave
};

class CheckpointFiles {
 public:
  // `directory` is the store's `kerolox` folder; it must exist to save.
  CheckpointFiles(std::filesystem::path directory, FileSystem& file_system);

  // The newer of the valid copies, or nothing if there is none (missing or damaged). Errors:
  // kUnsupported for a newer format version; kPermission, kIoError.
  Result<std::optional<Checkpoint>> load();

  // Overwrites the older copy and syncs it (and, the first time, its name). After a crash either
  // this checkpoint or the one before is loaded. load() must have been called before the first
  // save().
  Result<void> save(const Checkpoint& checkpoint);

 private:
  std::filesystem::path directory_;
  FileSystem& file_system_;
  std::uint64_t sequence_ = 0;  // of the newest copy
  int next_copy_ = 0;           // 0: -a, 1: -b
};

}  // namespace kerolox::storage
