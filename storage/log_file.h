// One fixed-size file of the log, and the boundary behind which a back end brings bytes to the
// disk. Nothing above it knows how: a mapping and fdatasync here, a ring of chunks and direct
// writes elsewhere.
//
// Positions are bytes from the file's begin.
// Threads: fill() runs on many threads at once, on disjoint parts that were prepared before; pin()
// and read() beside them. prepare() has one caller at a time, request_flush() and complete_flush()
// another, clear() excludes all but pin() and read().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "kerolox/base/result.h"
#include "kerolox/base/types.h"

namespace kerolox::storage {

// Bytes of a file in memory, and what keeps them there. Empty: not in memory.
struct PinnedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> pin;
};

class LogFile {
 public:
  virtual ~LogFile() = default;

  virtual PhysicalOffset base() const = 0;
  virtual std::int64_t bytes() const = 0;

  // Makes sure that filling [0, end) cannot run out of space. Blocks. Errors: kNoSpace, after which
  // the file is as before; anything else ends the store (P4), since a failed sync may have lost log
  // data.
  virtual Result<void> prepare(std::int64_t end) = 0;
  virtual std::int64_t prepared_bytes() const = 0;

  // Copies a part of a record to its place. Never blocks, never fails; [position, position + size)
  // must lie below prepared_bytes().
  virtual void fill(std::int64_t position, std::span<const std::byte> bytes) = 0;
  // A record that ends at `position` has been filled; others in front of it may still be under way.
  virtual void publish(std::int64_t position) = 0;

  // Two steps, so that several files can be under way at once: ask that [0, position) become
  // durable; wait until all that was asked for is. Returns the durable position. A failure is final
  // (P4).
  virtual void request_flush(std::int64_t position) = 0;
  virtual Result<std::int64_t> complete_flush() = 0;

  // What the file holds at `position`, without waiting for the disk: up to `bytes_wanted`, or
  // nothing.
  virtual PinnedBytes pin(std::int64_t position, std::int64_t bytes_wanted) = 0;
  // The same, read into `into`; may wait. Returns the bytes read.
  virtual Result<std::size_t> read(std::int64_t position, std::span<std::byte> into) = 0;
  // Gives up the file's memory: pin() answers nothing from now on. What is pinned stays.
  virtual void release_memory() = 0;

  // Zeroes [begin, end), durably.
  virtual Result<void> clear(std::int64_t begin, std::int64_t end) = 0;

  // Whether the file that is open is still the one with that name. Errors: kStoreFailed if it was
  // removed, renamed or replaced.
  virtual Result<void> check_name() = 0;
};

}  // namespace kerolox::storage
