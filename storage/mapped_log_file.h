// The mapped back end: records are copied into a shared mapping, and fdatasync makes them durable.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "kerolox/base/file_system.h"
#include "kerolox/base/mutex.h"
#include "storage/log_file.h"

namespace kerolox::storage {

// How blocks are made ready before bytes are stored to them.
enum class PrepareMode : std::uint8_t {
  kReserve,  // given blocks only: cheap, but the first sync of each must record that it was written
  kWriteZeros,  // written and synced ahead: a later sync has data to write and nothing else
};

class MappedLogFile final : public LogFile {
 public:
  struct Options {
    std::filesystem::path path;
    PhysicalOffset base;
    std::int64_t bytes = 0;
    PrepareMode prepare_mode = PrepareMode::kReserve;
    // Everything at and above this position is zero and unprepared.
    std::int64_t used_bytes = 0;
    bool mapped = true;  // false: a finished file, read through read() only
  };
  // `file` must be open for reading and writing and have its full length (for reading, if not
  // mapped).
  static Result<std::unique_ptr<MappedLogFile>> open(Options options, std::unique_ptr<File> file,
                                                     FileSystem& file_system);

  PhysicalOffset base() const override { return options_.base; }
  std::int64_t bytes() const override { return options_.bytes; }
  Result<void> prepare(std::int64_t end) override;
  std::int64_t prepared_bytes() const override {
    return prepared_bytes_.load(std::memory_order_acquire);  // pairs with the release in prepare()
  }
  void fill(std::int64_t position, std::span<const std::byte> bytes) override;
  void publish(std::int64_t /*position*/) override {}
  void request_flush(std::int64_t position) override;
  Result<std::int64_t> complete_flush() override;
  PinnedBytes pin(std::int64_t position, std::int64_t bytes_wanted) override;
  Result<std::size_t> read(std::int64_t position, std::span<std::byte> into) override;
  void release_memory() override;
  bool in_memory() const;
  // Lets go of [begin, end) in memory, as far as it is on disk; whole pages.
  void forget(std::int64_t begin, std::int64_t end);
  Result<void> clear(std::int64_t begin, std::int64_t end) override;
  Result<void> check_name() override;

  // Tells the file its new name; the caller has renamed it, and no thread uses it yet.
  void take_name(std::filesystem::path path, PhysicalOffset base);
  const std::filesystem::path& path() const { return options_.path; }

 private:
  MappedLogFile(Options options, std::unique_ptr<File> file, FileSystem& file_system,
                std::shared_ptr<MappedRegion> region, FileStatus status);
  Result<void> write_zeros(std::int64_t begin, std::int64_t end);

  Options options_;
  std::unique_ptr<File> file_;
  FileSystem& file_system_;
  std::byte* memory_;  // of region_; only fill() uses it, which never runs on a released file
  mutable Mutex region_mutex_;
  std::shared_ptr<MappedRegion> region_ KEROLOX_GUARDED_BY(region_mutex_);
  FileStatus identity_;
  bool reserve_supported_ = true;  // used by prepare() alone
  std::atomic<std::int64_t> prepared_bytes_;
  std::int64_t flush_position_ = 0;
};

}  // namespace kerolox::storage
