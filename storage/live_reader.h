// Reads of an open log: from the memory of its newest files, or from disk.
//
// Threads: any. Only the last kMemoryWindowBytes are read through the mapping: bytes that were
// written just now are in the page cache; older ones may have left it, and then a load would wait
// for the disk and a disk error would be SIGBUS. Those are read with plain calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kerolox/base/log.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/commit_log.h"
#include "storage/checkpoint_keeper.h"
#include "storage/log_file_queue.h"
#include "storage/log_reader.h"
#include "storage/log_state.h"

namespace kerolox::storage {

class LiveReader {
 public:
  static constexpr std::int64_t kMemoryWindowBytes = std::int64_t{64} << 20;

  LiveReader(LogState& state, LogFileQueue& files, CheckpointKeeper& keeper,
             const LogCallback& log);

  // As CommitLog's.
  Result<void> read(PhysicalOffset offset, const ReadOptions& options, ReadBatch& batch);
  Result<bool> try_read(PhysicalOffset offset, const ReadOptions& options, ReadBatch& batch);
  Result<std::vector<std::byte>> read_raw(PhysicalOffset offset, std::int64_t bytes);

  // Walks the heads of the file that holds the byte before `offset`. Returns the begin of the
  // record that ends at `offset` (-1 if `offset` is a file's begin); kInvalidArgument if no record
  // ends there.
  Result<PhysicalOffset> record_before(PhysicalOffset offset);

  // A truncation changes bytes under readers: what they find damaged meanwhile is not.
  void note_truncation() { truncations_.fetch_add(1); }
  std::int64_t damaged_ranges() const { return damaged_.load(); }

 private:
  Result<void> read_from(LogBytes& bytes, PhysicalOffset offset, const ReadOptions& options,
                         ReadBatch& batch);
  void quarantine(const ReadBatch& batch);

  LogState& state_;
  LogFileQueue& files_;
  CheckpointKeeper& keeper_;
  const LogCallback& log_;
  std::atomic<std::int64_t> truncations_{0};
  std::atomic<std::int64_t> damaged_{0};
};

}  // namespace kerolox::storage
