// A sub-command of `kerolox`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/flags.h"

namespace kerolox::tools {

class Command {
 public:
  virtual ~Command() = default;

  virtual std::string_view name() const = 0;     // "store inspect"
  virtual std::string_view usage() const = 0;    // what stands behind the name in a command line
  virtual std::string_view summary() const = 0;  // one line
  virtual std::string_view notes() const { return {}; }  // further lines of its help

  virtual void declare(FlagTable& flags) = 0;
  // Runs with the flags parsed; returns the exit code, having reported what went wrong.
  virtual int run(const FlagTable& flags) = 0;
};

// One factory a file, named after it.
std::unique_ptr<Command> put_command();
std::unique_ptr<Command> get_command();
std::unique_ptr<Command> store_inspect_command();
std::unique_ptr<Command> store_verify_command();
std::unique_ptr<Command> store_export_command();
std::unique_ptr<Command> store_recover_command();
std::unique_ptr<Command> bench_append_command();
std::unique_ptr<Command> bench_read_command();

}  // namespace kerolox::tools
