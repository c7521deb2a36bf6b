#include "tools/conditions.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>
#include <thread>
#include <utility>

namespace kerolox::tools {
namespace {

// The magic numbers of statfs(2).
constexpr std::pair<std::int64_t, const char*> kFileSystems[] = {
    {0xEF53, "ext4"},        {0x58465342, "xfs"}, {0x9123683E, "btrfs"}, {0x01021994, "tmpfs"},
    {0x794C7630, "overlay"}, {0x6969, "nfs"},     {0x2FC12FC1, "zfs"},   {0xF2F52010, "f2fs"},
    {0x01021997, "9p"},      {0x65735546, "fuse"}};

std::string file_system_of(const std::string& directory) {
  struct statfs status{};
  if (::statfs(directory.c_str(), &status) != 0) {
    return "unknown";
  }
  const auto magic = static_cast<std::int64_t>(static_cast<std::uint32_t>(status.f_type));
  for (const auto& [number, name] : kFileSystems) {
    if (number == magic) {
      return name;
    }
  }
  return "type " + std::to_string(magic);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void add_conditions(const std::string& directory, JsonLine& json) {
  utsname machine{};
  const bool known = ::uname(&machine) == 0;
  json.add("kernel", known ? std::string(machine.sysname) + " " + machine.release : "unknown")
      .add("machine", known ? machine.machine : "unknown")
      .add("cpu_count", static_cast<std::int64_t>(std::thread::hardware_concurrency()))
      .add("file_system", file_system_of(directory))
      .add("memory_bytes",
           std::int64_t{::sysconf(_SC_PHYS_PAGES)} * std::int64_t{::sysconf(_SC_PAGESIZE)})
      .add("version", KEROLOX_VERSION);
}

double process_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace kerolox::tools
