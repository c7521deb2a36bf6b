// Stores that another process holds, or that belong to another user.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/scratch_directory.h"
#include "crash/store_check.h"
#include "crash/writer_process.h"
#include "kerolox/storage/commit_log.h"
#include "support/other_process.h"

namespace kerolox::crash {
namespace {

using std::chrono::seconds;
using storage::CommitLog;

constexpr std::int64_t kFileBytes = 65536;

class SecondProcessTest : public ::testing::Test {
 protected:
  void expect_locked(const std::string& owner) const {
    const auto opened = CommitLog::open({.directory = store_});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kLocked);
    EXPECT_NE(opened.error().text().find(owner), std::string::npos) << opened.error().text();
  }
  // What opening answers to a user without rights, told apart by the exit code.
  ErrorCode code_for_nobody() const {
    const pid_t child = ::fork();
    if (child == 0) {
      if (::geteuid() == 0 && ::setuid(65534) != 0) {
        ::_exit(99);
      }
      const auto opened = CommitLog::open({.directory = store_, .threads = false});
      ::_exit(opened ? 98 : static_cast<int>(opened.error().code()));
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_NE(WEXITSTATUS(status), 99) << "cannot become another user";
    EXPECT_NE(WEXITSTATUS(status), 98) << "opened it";
    return static_cast<ErrorCode>(WEXITSTATUS(status));
  }
  void make_store() const {
    WriterProcess writer({.store = store_, .file_bytes = kFileBytes, .count = 100});
    ASSERT_TRUE(writer.await_end(seconds(30)));
    ASSERT_TRUE(writer.closed()) << writer.errors();
  }

  ScratchDirectory scratch_;
  const std::filesystem::path store_ = scratch_.path() / "store";
};

TEST_F(SecondProcessTest, ARunningStoreIsLockedNamesItsOwnerAndGoesOn) {
  WriterProcess writer({.store = store_, .file_bytes = kFileBytes, .in_flight = 8});
  ASSERT_TRUE(writer.await_acknowledgements(100, seconds(30))) << writer.errors();
  expect_locked("pid " + std::to_string(writer.pid()));
  ASSERT_TRUE(writer.await_acknowledgements(writer.acknowledged().size() + 100, seconds(30)))
      << writer.errors();
  writer.kill();
  for (const std::string& fault :
       faults_of({.store = store_, .file_bytes = kFileBytes}, writer.acknowledged())) {
    ADD_FAILURE() << fault;
  }
}

TEST_F(SecondProcessTest, ADeadOwnersLockNeedsNoHuman) {
  WriterProcess writer({.store = store_, .file_bytes = kFileBytes});
  ASSERT_TRUE(writer.await_acknowledgements(1, seconds(30))) << writer.errors();
  writer.kill();
  const auto opened = CommitLog::open({.directory = store_});
  EXPECT_TRUE(opened) << opened.error().text();
}

TEST_F(SecondProcessTest, ALockAsJavaTakesItIsRespected) {
  make_store();
  test::OtherProcess java([this] { return test::take_java_lock(store_ / "lock"); });
  ASSERT_TRUE(java.taken());
  const auto before = snapshot(store_);
  expect_locked("");
  EXPECT_EQ(snapshot(store_), before);
}

TEST_F(SecondProcessTest, AUserWithoutRightsIsToldSoAndChangesNothing) {
  make_store();
  namespace fs = std::filesystem;
  const auto before = snapshot(store_);
  fs::permissions(scratch_.path(), fs::perms::owner_all | fs::perms::group_exec |
                                       fs::perms::others_exec | fs::perms::others_read);
  for (const char* closed :
       {"", "commitlog", "commitlog/00000000000000000000", "kerolox", "lock"}) {
    const fs::perms all = fs::status(store_ / closed).permissions();
    fs::permissions(store_ / closed, fs::perms::none);
    EXPECT_EQ(code_for_nobody(), ErrorCode::kPermission) << closed;
    fs::permissions(store_ / closed, all);
  }
  EXPECT_EQ(snapshot(store_), before);
}

}  // namespace
}  // namespace kerolox::crash
