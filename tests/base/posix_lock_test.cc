// The lock on byte 0: between opens of one process, and between processes, one of which locks as a
// Java broker does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>

#include "base/scratch_directory.h"
#include "kerolox/base/file_system.h"

namespace kerolox {
namespace {

// fcntl's plain record lock, as FileChannel.tryLock(0, 1, false) takes it.
bool take_java_lock(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

// A process that calls `take`, tells whether it succeeded, and lives until it is killed.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<bool()>& take) {
    std::array<int, 2> ends;
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

class PosixLockTest : public ::testing::Test {
 protected:
  std::unique_ptr<File> open(OpenOptions::Mode mode = OpenOptions::Mode::kCreateOrOpen) {
    auto file = posix_file_system().open(path_, {.mode = mode});
    EXPECT_TRUE(file) << file.error().text();
    return std::move(file).value();
  }
  bool take_ours() {
    kept_ = open();
    const Result<bool> taken = kept_->try_lock();
    return taken && *taken;
  }

  ScratchDirectory scratch_;
  const std::filesystem::path path_ = scratch_.path() / "lock";
  std::unique_ptr<File> kept_;
};

TEST_F(PosixLockTest, ASecondOpenInTheSameProcessIsRefused) {
  const auto first = open();
  const auto second = open();
  EXPECT_TRUE(first->try_lock().value());
  EXPECT_FALSE(second->try_lock().value());
  EXPECT_TRUE(second->locked_by_another().value());
}

TEST_F(PosixLockTest, TheHolderMayTakeItAgainAndSeesNobodyElse) {
  const auto file = open();
  EXPECT_TRUE(file->try_lock().value());
  EXPECT_TRUE(file->try_lock().value());
  EXPECT_FALSE(file->locked_by_another().value());
}

TEST_F(PosixLockTest, AskingTakesNothingAndNeedsNoWritePermission) {
  const auto writable = open();
  const auto read_only = open(OpenOptions::Mode::kReadOnly);
  EXPECT_FALSE(read_only->locked_by_another().value());
  EXPECT_TRUE(writable->try_lock().value());
  EXPECT_TRUE(read_only->locked_by_another().value());
}

TEST_F(PosixLockTest, AReadOnlyFileCannotTakeIt) {
  open();
  const Result<bool> taken = open(OpenOptions::Mode::kReadOnly)->try_lock();
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().os_error(), EBADF);
  EXPECT_EQ(taken.error().place(), path_.native());
}

TEST_F(PosixLockTest, ItGoesWithItsFile) {
  auto first = open();
  const auto second = open();
  EXPECT_TRUE(first->try_lock().value());
  first.reset();
  EXPECT_TRUE(second->try_lock().value());
}

TEST_F(PosixLockTest, ClosingAnotherOpenOfTheFileDoesNotDropIt) {
  const auto holder = open();
  EXPECT_TRUE(holder->try_lock().value());
  open().reset();
  EXPECT_FALSE(open()->try_lock().value());
  OtherProcess java([&] { return take_java_lock(path_); });
  EXPECT_FALSE(java.taken());
}

TEST_F(PosixLockTest, JavasLockKeepsUsOut) {
  OtherProcess java([&] { return take_java_lock(path_); });
  ASSERT_TRUE(java.taken());
  const auto file = open();
  EXPECT_TRUE(file->locked_by_another().value());
  EXPECT_FALSE(file->try_lock().value());
}

TEST_F(PosixLockTest, OurLockKeepsJavaOut) {
  auto file = open();
  EXPECT_TRUE(file->try_lock().value());
  EXPECT_FALSE(OtherProcess([&] { return take_java_lock(path_); }).taken());
  file.reset();
  EXPECT_TRUE(OtherProcess([&] { return take_java_lock(path_); }).taken());
}

TEST_F(PosixLockTest, ItDiesWithAKilledProcess) {
  OtherProcess other([&] { return take_ours(); });
  ASSERT_TRUE(other.taken());
  const auto file = open();
  EXPECT_FALSE(file->try_lock().value());
  other.kill();
  EXPECT_FALSE(file->locked_by_another().value());
  EXPECT_TRUE(file->try_lock().value());
}

}  // namespace
}  // namespace kerolox
