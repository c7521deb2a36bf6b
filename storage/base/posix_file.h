// One open file of the machine's file system; its contract is File's.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"

namespace kerolox {

// Closes its descriptor when destroyed. A failed close says nothing that a sync has not said before
// it, so it is not reported.
class UniqueFd {
 public:
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&&) = delete;
  ~UniqueFd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

Result<std::unique_ptr<File>> open_posix_file(const std::filesystem::path& path,
                                              OpenOptions options);

}  // namespace kerolox
