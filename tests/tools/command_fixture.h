// Runs the real `kerolox` as a child process, with a scratch directory for its stores.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/scratch_directory.h"
#include "tools/json_value.h"

namespace kerolox::tools {

struct Finished {
  int code = -1;  // exit code; 128 + signal if it was killed
  std::string out;
  std::string err;
};

struct RunOptions {
  std::string input;
  std::vector<std::string> wrapper = {};  // a command that runs the command
};

// Runs any program of the PATH.
Finished run_program(const std::vector<std::string>& command, const std::string& input = "");

class CommandTest : public ::testing::Test {
 protected:
  Finished kerolox(const std::vector<std::string>& arguments, const RunOptions& options = {});

  std::string store() const { return (scratch_.path() / "store").string(); }
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }

  // Stores `lines`, one message each; expects that to succeed.
  Finished put_lines(const std::string& lines, const std::vector<std::string>& more = {});

  // Unpacks tests/golden/`name` into the scratch directory.
  void unpack(const std::string& name);

 private:
  ScratchDirectory scratch_;
};

std::vector<std::string> lines_of(const std::string& text);
std::vector<JsonValue> json_lines_of(const std::string& text);
std::string read_file(const std::filesystem::path& path);

// Names, bytes, modes and modification times of everything below `directory`.
std::map<std::string, std::string> tree_of(const std::filesystem::path& directory);

// That `run` failed with `code` and said one line that holds all of `parts`.
void expect_fault(const Finished& run, int code, const std::vector<std::string>& parts);

}  // namespace kerolox::tools
