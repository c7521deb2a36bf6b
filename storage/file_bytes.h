// The bytes of a log through plain read calls, in windows that are read ahead and lent.
//
// Threads: one at a time. Memory: one window, more only while what was lent from older ones is
// still pinned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "storage/log_layout.h"
#include "storage/log_reader.h"

namespace kerolox::storage {

// Memory that direct reads accept: begin and size are multiples of kDirectAlignment.
class AlignedBuffer {
 public:
  explicit AlignedBuffer(std::size_t bytes_min);

  std::span<std::byte> bytes() { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete(memory, std::align_val_t{kDirectAlignment});
    }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Free> memory_;
};

class FileBytes final : public LogBytes {
 public:
  static constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20;

  // What the page cache shows, or what the disk holds (kUnsupported where the file system has no
  // direct reads).
  enum class Source : std::uint8_t { kCache, kDisk };

  // `layout` and `file_system` must outlive it.
  FileBytes(const LogLayout& layout, FileSystem& file_system, Source source = Source::kCache);

  // Lends from the window, all that it holds. A file that has become shorter than the layout's, or
  // has gone, is kIoError.
  Result<std::span<const std::byte>> bytes_at(PhysicalOffset offset, std::int64_t bytes_wanted,
                                              std::vector<std::byte>& buffer,
                                              std::shared_ptr<const void>& pin) override;

 private:
  struct Window {
    explicit Window(std::size_t bytes_min) : memory(bytes_min) {}
    AlignedBuffer memory;
    PhysicalOffset begin;
    std::int64_t bytes = 0;
  };

  Result<void> open(const LogFileEntry& entry);
  Result<void> fill(const LogFileEntry& entry, PhysicalOffset offset, std::int64_t bytes_wanted);

  const LogLayout& layout_;
  FileSystem& file_system_;
  Source source_;
  std::unique_ptr<File> file_;  // the one read last
  PhysicalOffset file_base_{-1};
  std::shared_ptr<Window> window_;
};

}  // namespace kerolox::storage
