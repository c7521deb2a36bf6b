// A log_writer as a process of its own, and what it has reported so far. The reports are read from
// a pipe into this process's memory: they survive whatever happens to the writer and its disk.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "crash/writer_protocol.h"
#include "kerolox/base/error.h"

namespace kerolox::crash {

struct WriterOptions {
  std::filesystem::path store;
  bool sync = true;
  std::int64_t file_bytes = 0;
  std::int64_t run = 0;
  std::int64_t threads = 1;
  std::int64_t in_flight = 64;
  std::int64_t count = 1'000'000'000;
  std::int64_t body_bytes = 300;
  bool early = false;  // the control: reports before the sync
};

class WriterProcess {
 public:
  explicit WriterProcess(const WriterOptions& options);
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  ~WriterProcess();  // kills it

  pid_t pid() const { return pid_; }

  // Returns once so many acknowledgements have come, the writer has ended, or the time is over.
  // True: they have come.
  bool await_acknowledgements(std::size_t count, std::chrono::microseconds at_most);
  bool await_opened(std::chrono::microseconds at_most);
  // Waits until it ends by itself; false: it did not.
  bool await_end(std::chrono::microseconds at_most);

  // SIGKILL, then waits for its end and for the last report it got out. No more changes after that.
  void kill();

  // After kill() or await_end(). What its standard error said is in errors().
  std::vector<WriterReport> acknowledged() const;
  std::optional<ErrorCode> failure() const;
  bool closed() const;
  std::string errors() const;
  bool ended_by_signal(int signal) const;

 private:
  void drain(int fd);
  template <typename Condition>
  bool await(const Condition& condition, std::chrono::microseconds at_most);
  void reap();

  pid_t pid_ = 0;
  int status_ = 0;
  bool reaped_ = false;
  std::filesystem::path errors_file_;
  std::thread drainer_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WriterReport> reports_;
  std::size_t acknowledgements_ = 0;
  bool opened_ = false;
  bool pipe_ended_ = false;
};

}  // namespace kerolox::crash
