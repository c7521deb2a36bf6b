#include "tools/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace kerolox::tools {
namespace {

constexpr std::size_t kPendingBytesMax = std::size_t{64} << 10;

Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return Error::from_errno(errno, "write", "standard output");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// One write a line, so that lines of several threads do not mix.
void say(std::string_view command, std::string_view text) {
  std::string line("kerolox");
  if (!command.empty()) {
    line.append(" ").append(command);
  }
  line.append(": ").append(text).append("\n");
  // Nobody is left to be told where this fails.
  static_cast<void>(write_all(2, line));
}

}  // namespace

void Output::add(std::string_view text) {
  pending_.append(text);
  if (pending_.size() >= kPendingBytesMax) {
    static_cast<void>(flush());  // kept in state_, returned by the caller's own flush()
  }
}

Result<void> Output::flush() {
  if (state_ && !pending_.empty()) {
    state_ = write_all(fd_, pending_);
  }
  pending_.clear();
  return state_;
}

void report(std::string_view command, const Error& error) { say(command, error.text()); }

ExitCode exit_code(const Error& error) {
  return error.code() == ErrorCode::kInvalidArgument ? kWrongUse : kProblem;
}

int fail(std::string_view command, const Error& error) {
  report(command, error);
  return exit_code(error);
}

LogCallback log_to_standard_error(std::string_view command) {
  return [name = std::string(command)](Severity severity, std::string_view text) {
    if (severity == Severity::kInfo) {
      return;
    }
    std::string line(severity == Severity::kWarning ? "warning: " : "error: ");
    say(name, line.append(text));
  };
}

}  // namespace kerolox::tools
