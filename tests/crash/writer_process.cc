#include "crash/writer_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <iterator>

namespace kerolox::crash {
namespace {

std::vector<std::string> arguments_of(const WriterOptions& options) {
  const auto pair = [](const char* name, std::int64_t value) {
    return std::string(name) + "=" + std::to_string(value);
  };
  return {KEROLOX_LOG_WRITER,
          "store=" + options.store.string(),
          std::string("flush=") + (options.sync ? "sync" : "async"),
          pair("file_bytes", options.file_bytes),
          pair("run", options.run),
          pair("threads", options.threads),
          pair("in_flight", options.in_flight),
          pair("count", options.count),
          pair("body_bytes", options.body_bytes),
          pair("early", options.early ? 1 : 0)};
}

// The writer dies with the test, however that ends.
[[noreturn]] void become_writer(const std::vector<std::string>& arguments, int reports, int errors,
                                pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) {
    ::_exit(5);
  }
  ::dup2(reports, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));
  }
  pointers.push_back(nullptr);
  ::execv(pointers.front(), pointers.data());
  ::_exit(6);
}

}  // namespace

WriterProcess::WriterProcess(const WriterOptions& options) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  std::string name = (std::filesystem::temp_directory_path() / "kerolox-writer-XXXXXX").native();
  const int errors = ::mkostemp(name.data(), O_CLOEXEC);
  EXPECT_GE(errors, 0);
  errors_file_ = name;
  const std::vector<std::string> arguments = arguments_of(options);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    become_writer(arguments, ends[1], errors, parent);
  }
  EXPECT_GT(pid_, 0);
  ::close(errors);
  ::close(ends[1]);
  drainer_ = std::thread([this, fd = ends[0]] { drain(fd); });
}

WriterProcess::~WriterProcess() {
  kill();
  std::error_code ignored;
  std::filesystem::remove(errors_file_, ignored);
}

void WriterProcess::drain(int fd) {
  std::vector<WriterReport> batch(512);
  for (;;) {
    // Reports are written whole and much smaller than a pipe's atomic unit: reads see no part of
    // one.
    const ssize_t bytes = ::read(fd, batch.data(), batch.size() * sizeof(WriterReport));
    if (bytes <= 0) {
      break;
    }
    const auto end = batch.begin() + bytes / static_cast<ssize_t>(sizeof(WriterReport));
    const std::lock_guard lock(mutex_);
    for (auto report = batch.begin(); report != end; ++report) {
      reports_.push_back(*report);
      acknowledgements_ += report->kind == WriterReport::Kind::kAcknowledged ? 1 : 0;
      opened_ = opened_ || report->kind == WriterReport::Kind::kOpened;
    }
    changed_.notify_all();
  }
  ::close(fd);
  const std::lock_guard lock(mutex_);
  pipe_ended_ = true;
  changed_.notify_all();
}

template <typename Condition>
bool WriterProcess::await(const Condition& condition, std::chrono::microseconds at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [&] { return condition() || pipe_ended_; });
  return condition();
}

bool WriterProcess::await_acknowledgements(std::size_t count, std::chrono::microseconds at_most) {
  return await([&] { return acknowledgements_ >= count; }, at_most);
}

bool WriterProcess::await_opened(std::chrono::microseconds at_most) {
  return await([&] { return opened_; }, at_most);
}

bool WriterProcess::await_end(std::chrono::microseconds at_most) {
  if (!await([&] { return pipe_ended_; }, at_most)) {
    return false;
  }
  reap();
  return true;
}

void WriterProcess::kill() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    reap();
  }
}

void WriterProcess::reap() {
  if (!reaped_) {
    EXPECT_EQ(::waitpid(pid_, &status_, 0), pid_);
    drainer_.join();
    reaped_ = true;
  }
}

std::vector<WriterReport> WriterProcess::acknowledged() const {
  const std::lock_guard lock(mutex_);
  std::vector<WriterReport> found;
  std::copy_if(reports_.begin(), reports_.end(), std::back_inserter(found),
               [](const auto& report) { return report.kind == WriterReport::Kind::kAcknowledged; });
  return found;
}

std::optional<ErrorCode> WriterProcess::failure() const {
  const std::lock_guard lock(mutex_);
  for (const WriterReport& report : reports_) {
    if (report.kind == WriterReport::Kind::kFailed) {
      return static_cast<ErrorCode>(report.error_code);
    }
  }
  return std::nullopt;
}

bool WriterProcess::closed() const {
  const std::lock_guard lock(mutex_);
  return !reports_.empty() && reports_.back().kind == WriterReport::Kind::kClosed;
}

std::string WriterProcess::errors() const {
  std::ifstream file(errors_file_);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool WriterProcess::ended_by_signal(int signal) const {
  return WIFSIGNALED(status_) && WTERMSIG(status_) == signal;
}

}  // namespace kerolox::crash
