#include "crash/disk_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace kerolox::crash {
namespace {

// XFS's number for it, which ext4 shares; the headers of Debian 12 have it for XFS only.
constexpr unsigned long kShutdown = _IOR('X', 125, std::uint32_t);
constexpr std::uint32_t kWithoutLogFlush = 2;

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

std::string enter_namespace() {
  if (::unshare(CLONE_NEWNS) != 0) {
    return std::string("no mount namespace: unshare: ") + std::strerror(errno);
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return std::string("cannot make mounts private: ") + std::strerror(errno);
  }
  return {};
}

std::string find_missing() {
  if (::geteuid() != 0) {
    return "not root";
  }
  for (const char* tool : {"mkfs.ext4", "mkfs.xfs", "losetup", "mount"}) {
    if (!run(std::string("PATH=$PATH:/usr/sbin:/sbin command -v ") + tool)) {
      return std::string("no ") + tool + " (packages e2fsprogs, xfsprogs, mount)";
    }
  }
  if (::access("/dev/loop-control", R_OK | W_OK) != 0) {
    return "no loop devices: /dev/loop-control";
  }
  for (const char* file_system : {"ext4", "xfs"}) {
    std::ifstream known("/proc/filesystems");
    const std::string all{std::istreambuf_iterator<char>(known), {}};
    if (all.find(std::string("\t") + file_system + "\n") == std::string::npos &&
        !run(std::string("modprobe ") + file_system)) {
      return std::string("the kernel has no ") + file_system;
    }
  }
  return enter_namespace();
}

}  // namespace

bool run(const std::string& command) {
  const int status = std::system(("{ " + command + "; } >/dev/null 2>&1").c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string why_mounting_is_impossible() {
  static const std::string reason = find_missing();
  return reason;
}

std::string name(DiskKind kind) { return kind == DiskKind::kExt4 ? "ext4" : "xfs"; }

DiskImage::DiskImage(DiskKind kind, const std::filesystem::path& directory, std::int64_t bytes)
    : image_(directory / "image"), mount_point_(directory / "mount"), kind_(kind) {
  std::filesystem::create_directories(mount_point_);
  std::ofstream(image_).close();
  std::filesystem::resize_file(image_, static_cast<std::uintmax_t>(bytes));
  const std::string format = kind == DiskKind::kExt4
                                 ? "mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 "
                                 : "mkfs.xfs -q -f ";
  EXPECT_TRUE(run("PATH=$PATH:/usr/sbin:/sbin; " + format + quoted(image_))) << name(kind);
  mount();
}

DiskImage::~DiskImage() {
  if (mounted_ && ::umount(mount_point_.c_str()) != 0) {
    ::umount2(mount_point_.c_str(), MNT_DETACH);
  }
  std::error_code ignored;
  std::filesystem::remove(image_, ignored);
}

void DiskImage::mount(bool read_only) {
  mounted_ = run("mount -t " + name(kind_) + " -o loop" + (read_only ? ",ro " : " ") +
                 quoted(image_) + " " + quoted(mount_point_));
  ASSERT_TRUE(mounted_) << name(kind_);
}

void DiskImage::unmount() {
  ASSERT_EQ(::umount(mount_point_.c_str()), 0) << std::strerror(errno);
  mounted_ = false;
}

void DiskImage::cut_power() const {
  const int fd = ::open(mount_point_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(fd, 0) << std::strerror(errno);
  std::uint32_t how = kWithoutLogFlush;
  EXPECT_EQ(::ioctl(fd, kShutdown, &how), 0) << std::strerror(errno);
  ::close(fd);
}

MemoryDisk::MemoryDisk(const std::filesystem::path& mount_point, std::int64_t bytes)
    : mount_point_(mount_point) {
  std::filesystem::create_directories(mount_point_);
  EXPECT_EQ(
      ::mount("tmpfs", mount_point_.c_str(), "tmpfs", 0, ("size=" + std::to_string(bytes)).c_str()),
      0)
      << std::strerror(errno);
}

MemoryDisk::~MemoryDisk() {
  if (::umount(mount_point_.c_str()) != 0) {
    ::umount2(mount_point_.c_str(), MNT_DETACH);
  }
}

void MemoryDisk::resize(std::int64_t bytes) const {
  ASSERT_EQ(::mount("tmpfs", mount_point_.c_str(), "tmpfs", MS_REMOUNT,
                    ("size=" + std::to_string(bytes)).c_str()),
            0)
      << std::strerror(errno);
}

}  // namespace kerolox::crash
