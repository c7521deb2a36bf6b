#include "tools/command_fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>

extern char** environ;

namespace kerolox::tools {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

int wait_for(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Finished run_program(const std::vector<std::string>& command, const std::string& input) {
  const ScratchDirectory files;
  const std::string in = files.path() / "in";
  const std::string out = files.path() / "out";
  const std::string err = files.path() / "err";
  write_file(in, input);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  pid_t pid = 0;
  const int spawned =
      ::posix_spawnp(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  Finished run;
  EXPECT_EQ(spawned, 0) << "cannot run " << command[0];
  if (spawned == 0) {
    run.code = wait_for(pid);
    run.out = read_file(out);
    run.err = read_file(err);
  }
  return run;
}

Finished CommandTest::kerolox(const std::vector<std::string>& arguments,
                              const RunOptions& options) {
  std::vector<std::string> command = options.wrapper;
  command.emplace_back(KEROLOX_COMMAND);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_program(command, options.input);
}

Finished CommandTest::put_lines(const std::string& lines, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"put", "--store", store(), "--topic", "orders", "--lines"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  Finished run = kerolox(arguments, {.input = lines});
  EXPECT_EQ(run.code, 0) << run.err;
  return run;
}

void CommandTest::unpack(const std::string& name) {
  const std::string archive = std::string(KEROLOX_SOURCE_DIR "/tests/golden/") + name;
  const Finished run = run_program({"tar", "--zstd", "-xf", archive, "-C", path("")});
  ASSERT_EQ(run.code, 0) << "tar and zstd are needed: " << run.err;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::vector<JsonValue> json_lines_of(const std::string& text) {
  std::vector<JsonValue> documents;
  for (const std::string& line : lines_of(text)) {
    Result<JsonValue> document = JsonValue::parse(line);
    EXPECT_TRUE(document && document->is_object()) << line;
    documents.push_back(document ? std::move(*document) : JsonValue());
  }
  return documents;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::map<std::string, std::string> tree_of(const fs::path& directory) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    struct stat status{};
    EXPECT_EQ(::lstat(entry.path().c_str(), &status), 0) << entry.path();
    std::ostringstream text;
    text << status.st_mode << ' ' << status.st_uid << ' ' << status.st_ino << ' ' << status.st_size
         << ' ' << status.st_blocks << ' ' << status.st_mtim.tv_sec << '.' << status.st_mtim.tv_nsec
         << ' ' << status.st_ctim.tv_sec << '.' << status.st_ctim.tv_nsec << '\n';
    if (entry.is_regular_file()) {
      text << read_file(entry.path());
    }
    tree[fs::relative(entry.path(), directory).string()] = text.str();
  }
  return tree;
}

void expect_fault(const Finished& run, int code, const std::vector<std::string>& parts) {
  EXPECT_EQ(run.code, code) << run.out << run.err;
  EXPECT_EQ(lines_of(run.err).size(), 1U) << run.err;
  for (const std::string& part : parts) {
    EXPECT_NE(run.err.find(part), std::string::npos) << "no \"" << part << "\" in: " << run.err;
  }
}

}  // namespace kerolox::tools
