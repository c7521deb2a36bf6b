// Another process that holds something while a test looks at it from outside.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <functional>

namespace kerolox::test {

// A process that calls `take`, tells whether it succeeded, and lives until it is killed.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<bool()>& take) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char answer = take() ? 'y' : 'n';
      if (::write(ends[1], &answer, 1) != 1) {
        ::_exit(1);
      }
      for (;;) {
        ::pause();
      }
    }
    ::close(ends[1]);
    char answer = '?';
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    ::close(ends[0]);
    taken_ = answer == 'y';
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess() { kill(); }

  pid_t pid() const { return pid_; }
  bool taken() const { return taken_; }
  void kill() {
    if (pid_ > 0) {
      EXPECT_EQ(::kill(pid_, SIGKILL), 0);
      EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
      pid_ = 0;
    }
  }

 private:
  pid_t pid_ = 0;
  bool taken_ = false;
};

// fcntl's plain record lock on byte 0, as FileChannel.tryLock(0, 1, false) takes it. The process
// keeps it until it ends.
inline bool take_java_lock(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

}  // namespace kerolox::test
