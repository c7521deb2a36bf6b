// What an append under ASYNC_FLUSH does not do once it runs steadily: allocate, or enter the
// kernel. Replaces operator new, so it is a program of its own.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>

#include "base/scratch_directory.h"
#include "kerolox/storage/commit_log.h"
#include "support/counted_allocations.h"

namespace kerolox::storage {
namespace {

constexpr int kMessages = 500;

class CommitLogSteadyTest : public ::testing::Test {
 protected:
  CommitLogSteadyTest() {
    CommitLogOptions options;
    options.directory = scratch_.path() / "store";
    options.file_bytes = std::int64_t{64} << 20;
    options.flush_policy = FlushPolicy::kAsync;
    options.flush_interval = std::chrono::hours(1);
    options.threads = false;
    auto opened = CommitLog::open(options);
    EXPECT_TRUE(opened) << opened.error().text();
    log_ = *std::move(opened);
    append(10);  // buffers, queues and blocks
    while (log_->run_once()) {
    }
  }

  // Returns how many were not acknowledged at once.
  int append(int count) {
    const Message message{.topic = "orders",
                          .tags = "paid",
                          .keys = "k1 k2",
                          .body = std::as_bytes(std::span(body_))};
    int refused = 0;
    for (int i = 0; i < count; ++i) {
      const auto ticket = log_->append(
          message, {}, Completion([this](const Result<AppendReceipt>&) { ++completed_; }));
      refused += ticket && ticket->completed ? 0 : 1;
    }
    return refused;
  }

  ScratchDirectory scratch_;
  const std::string body_ = std::string(1024, 'b');
  int completed_ = 0;
  std::unique_ptr<CommitLog> log_;
};

TEST_F(CommitLogSteadyTest, AppendingAllocatesNothing) {
  const long before = allocations;
  const int refused = append(kMessages);
  const long after = allocations;
  EXPECT_EQ(after, before);
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(completed_, kMessages + 10);
}

TEST_F(CommitLogSteadyTest, AppendingABatchAllocatesNothing) {
  const Message message{.topic = "orders", .body = std::as_bytes(std::span(body_))};
  const std::array<Message, 8> batch{message, message, message, message,
                                     message, message, message, message};
  std::array<RecordPosition, 8> positions;
  ASSERT_TRUE(log_->append_batch(batch, {}, {}, positions));
  const long before = allocations;
  int refused = 0;
  for (int i = 0; i < 50; ++i) {
    refused += log_->append_batch(batch, {}, {}, positions) ? 0 : 1;
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(refused, 0);
}

// From here on the kernel ends this process at any system call but the end of itself, and but the
// question for the time, which is one only on machines whose clock user space cannot read.
bool allow_only_exit() {
  std::array<sock_filter, 5> program{
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Runs `act` in a child that may make no system call; returns how it ended.
template <typename Act>
int status_without_system_calls(const Act& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!allow_only_exit()) {
      ::_exit(3);
    }
    ::_exit(act() ? 0 : 1);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST_F(CommitLogSteadyTest, TheFilterCatchesASystemCall) {
  const int status = status_without_system_calls([] { return ::getppid() > 0; });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
}

TEST_F(CommitLogSteadyTest, AppendingMakesNoSystemCall) {
  const int status = status_without_system_calls([this] { return append(kMessages) == 0; });
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace kerolox::storage
