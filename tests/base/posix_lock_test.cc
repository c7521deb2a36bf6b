// The lock on byte 0: between opens of one process, and between processes, one of which locks as a
// Java broker does.
#include <gtest/gtest.h>

#include <cerrno>

#include "base/scratch_directory.h"
#include "kerolox/base/file_system.h"
#include "support/other_process.h"

namespace kerolox {
namespace {

using test::OtherProcess;
using test::take_java_lock;

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
  EXPECT_TRUE(second->lock_holder().value());
}

TEST_F(PosixLockTest, TheHolderMayTakeItAgainAndSeesNobodyElse) {
  const auto file = open();
  EXPECT_TRUE(file->try_lock().value());
  EXPECT_TRUE(file->try_lock().value());
  EXPECT_FALSE(file->lock_holder().value());
}

TEST_F(PosixLockTest, AskingTakesNothingAndNeedsNoWritePermission) {
  const auto writable = open();
  const auto read_only = open(OpenOptions::Mode::kReadOnly);
  EXPECT_FALSE(read_only->lock_holder().value());
  EXPECT_TRUE(writable->try_lock().value());
  EXPECT_TRUE(read_only->lock_holder().value());
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
  EXPECT_TRUE(file->lock_holder().value());
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
  EXPECT_FALSE(file->lock_holder().value());
  EXPECT_TRUE(file->try_lock().value());
}

}  // namespace
}  // namespace kerolox
