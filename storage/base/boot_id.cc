#include "storage/base/boot_id.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <span>
#include <string_view>

#include "kerolox/base/file_system.h"

namespace kerolox {
namespace {

std::string never_seen_before() {
  static std::atomic<unsigned> calls{0};
  std::string id = "unknown";
  for (const auto number :
       {static_cast<long long>(std::chrono::system_clock::now().time_since_epoch().count()),
        static_cast<long long>(std::chrono::steady_clock::now().time_since_epoch().count()),
        static_cast<long long>(::getpid()), static_cast<long long>(calls.fetch_add(1))}) {
    id.append("-").append(std::to_string(number));
  }
  return id;
}

}  // namespace

std::string read_boot_id(const char* file) {
  auto opened = posix_file_system().open(file, {});
  if (!opened) {
    return never_seen_before();
  }
  std::array<char, 64> buffer;
  const auto count = opened.value()->read_at(0, std::as_writable_bytes(std::span(buffer)));
  if (!count) {
    return never_seen_before();
  }
  std::string_view id(buffer.data(), *count);
  id = id.substr(0, id.find('\n'));
  return id.empty() ? never_seen_before() : std::string(id);
}

}  // namespace kerolox
