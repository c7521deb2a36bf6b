// What one file of a CrashFileSystem holds: in the page cache, which reads and mappings see, and on
// the disk, which is what the last good sync left. Not thread-safe: CrashFileSystem locks.
//
// Stores through a mapping cannot be trapped. So each page remembers what was last seen in the
// cache, and observe() turns every difference into dirty sectors; the callers that care (sync,
// crash, unmap ...) observe first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/seeded_random.h"

namespace kerolox {

inline constexpr std::int64_t kCrashPageBytes = 4096;
inline constexpr std::int64_t kCrashSectorBytes = 512;
inline constexpr std::int64_t kCrashFileBytesMax = std::int64_t{2} << 30;

// Address space for the largest file; the kernel gives memory to the pages that are touched.
class CrashMemory {
 public:
  CrashMemory();
  CrashMemory(const CrashMemory&) = delete;
  CrashMemory& operator=(const CrashMemory&) = delete;
  ~CrashMemory();
  std::byte* data() { return data_; }

 private:
  std::byte* data_;
};

// How much of what was not synced a power cut leaves.
struct PowerCut {
  SeededRandom random;
  std::uint64_t keep_in_256;  // the chance of each dirty sector to reach the disk
  bool garbage;               // whether sectors of never synced blocks may hold anything
};

class CrashFileContent {
 public:
  std::int64_t bytes() const { return bytes_; }
  std::int64_t allocated_pages() const { return allocated_pages_; }

  std::size_t read(std::int64_t offset, std::span<std::byte> into);
  // Past the cache: what is on disk, and dirty sectors as if they had just been written there. They
  // stay dirty: reaching the device is not the same as being safe there.
  std::size_t read_direct(std::int64_t offset, std::span<std::byte> into);
  std::optional<std::int64_t> next_data(std::int64_t offset);

  // Gives blocks to the pages from `offset` on, as long as `pages_left` lasts; returns how many of
  // `bytes` have blocks now.
  std::int64_t allocate(std::int64_t offset, std::int64_t bytes, std::int64_t pages_left);
  std::int64_t pages_missing(std::int64_t offset, std::int64_t bytes) const;
  // Into blocks that allocate() gave.
  void write(std::int64_t offset, std::span<const std::byte> from);
  void resize(std::int64_t bytes);

  void sync();
  // A failed sync: what was dirty is clean now, but not on disk.
  void lose_dirty();
  // Clean pages leave the cache, so that reads show the disk.
  void evict(std::int64_t begin, std::int64_t end);
  // Other bytes, in cache and on disk at once.
  void rot(std::int64_t offset, std::span<const std::byte> bytes);
  std::vector<std::byte> disk() const;

  std::uint64_t map(std::int64_t offset, std::int64_t bytes, bool writable);
  void unmap(std::uint64_t mapping);
  std::shared_ptr<CrashMemory> memory();

  void observe();  // everything
  // Leaves the mappings of a dead process what they see, and takes no more stores from them.
  void detach();
  void power_cut(PowerCut& cut);

  // Stores through mappings that a real machine had answered with SIGBUS or SIGSEGV.
  std::vector<std::string>& violations() { return violations_; }

 private:
  using Bytes = std::array<std::byte, static_cast<std::size_t>(kCrashPageBytes)>;
  struct Page {
    Bytes disk{};
    Bytes seen{};                    // in the cache, when last looked at
    std::uint8_t dirty = 0;          // a bit for each sector
    bool allocated = false;          // has a block
    bool durably_allocated = false;  // had one at the last good sync
    bool on_disk = false;            // that block was written and synced once
    bool written = false;            // holds data, not only a reservation
  };
  struct Mapping {
    std::uint64_t id;
    std::int64_t first_page;
    std::int64_t last_page;
    bool writable;
  };

  Page* page(std::int64_t index) const;
  Page& make_page(std::int64_t index);
  std::byte* cache(std::int64_t index);
  void set_allocated(Page& page, bool allocated);
  void observe_page(std::int64_t index, bool writable);
  void observe_pages(std::int64_t first_page, std::int64_t last_page);
  void zero(std::int64_t index, std::int64_t from_byte);
  void cut_power_of(Page& page, PowerCut& cut);
  void show_disk(std::int64_t index);

  std::int64_t bytes_ = 0;
  std::int64_t durable_bytes_ = 0;
  std::int64_t allocated_pages_ = 0;
  std::vector<std::unique_ptr<Page>> pages_;  // a missing one is a hole
  std::shared_ptr<CrashMemory> memory_;       // missing while nobody wrote or mapped
  std::vector<Mapping> mappings_;
  std::uint64_t last_mapping_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace kerolox
