// Standard output of the command, and how it says what went wrong.
//
// Threads: one at a time, each object.
#pragma once

#include <string>
#include <string_view>

#include "kerolox/base/log.h"
#include "kerolox/base/result.h"

namespace kerolox::tools {

enum ExitCode : int {
  kGood = 0,
  kProblem = 1,   // a fault was found, or the operation failed
  kWrongUse = 2,  // the command line or the input is at fault
};

// Collects text and hands it to the kernel in large writes. Nothing is written behind the caller's
// back once a write has failed.
class Output {
 public:
  explicit Output(int fd = 1) : fd_(fd) {}

  // Flushes by itself above 64 KiB.
  void add(std::string_view text);
  // Returns once the kernel has all of it: a process that dies afterwards has said it. Errors: that
  // of the first write that failed, from then on.
  Result<void> flush();

 private:
  int fd_;
  std::string pending_;
  Result<void> state_;
};

// One line on standard error: "kerolox put: <place>: <message> (<numbers>); <remedy>".
void report(std::string_view command, const Error& error);

// What `error` means for the exit code: a fault of the request is wrong use.
ExitCode exit_code(const Error& error);

// report() and exit_code() in one.
int fail(std::string_view command, const Error& error);

// Passes warnings and errors of a store on to standard error.
LogCallback log_to_standard_error(std::string_view command);

}  // namespace kerolox::tools
