// A file system of its own for one test, on a loop device over an image, or in memory.
//
// The test process leaves the machine's mount namespace first: mounts are seen by it and by its
// children only, and the kernel undoes them, and frees the loop devices, when the last of them has
// ended, however it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace kerolox::crash {

// Why this process cannot mount anything, in one line; empty: it can. Enters the namespace.
std::string why_mounting_is_impossible();

enum class DiskKind : std::uint8_t { kExt4, kXfs };
std::string name(DiskKind kind);

// An image and its mount point, both in `directory`. Every failure is a failure of the test.
class DiskImage {
 public:
  DiskImage(DiskKind kind, const std::filesystem::path& directory, std::int64_t bytes);
  DiskImage(const DiskImage&) = delete;
  DiskImage& operator=(const DiskImage&) = delete;
  ~DiskImage();

  const std::filesystem::path& path() const { return mount_point_; }

  void mount(bool read_only = false);
  void unmount();

  // What `xfs_io -x -c shutdown` does: from one moment to the next nothing reaches the disk any
  // more, neither data nor the file system's own log, and every later write and sync is EIO. What
  // was in memory only is gone once it is mounted again: a power cut, to the files on it.
  void cut_power() const;

 private:
  std::filesystem::path image_;
  std::filesystem::path mount_point_;
  DiskKind kind_;
  bool mounted_ = false;
};

// A tmpfs of so many bytes.
class MemoryDisk {
 public:
  MemoryDisk(const std::filesystem::path& mount_point, std::int64_t bytes);
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;
  ~MemoryDisk();

  const std::filesystem::path& path() const { return mount_point_; }
  void resize(std::int64_t bytes) const;

 private:
  std::filesystem::path mount_point_;
};

// Runs it by the shell, its output thrown away; whether it ended with 0.
bool run(const std::string& command);

}  // namespace kerolox::crash
