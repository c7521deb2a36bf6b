// inspect, verify, export and recover, on good and bad stores.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/command_fixture.h"

namespace kerolox::tools {
namespace {

namespace fs = std::filesystem;

class StoreCommandsTest : public CommandTest {
 protected:
  // All the commands that only look.
  std::vector<std::vector<std::string>> looks(const std::string& directory) {
    return {{"get", "--store", directory, "--physical_offset=0"},
            {"store", "inspect", "--store", directory},
            {"store", "inspect", "--store", directory, "--output=json"},
            {"store", "verify", "--store", directory},
            {"store", "verify", "--store", directory, "--output=json"},
            {"store", "export", "--store", directory},
            {"store", "export", "--store", directory, "--format=probe", "--all_keys"}};
  }

  void overwrite(const fs::path& file, std::streamoff at, const std::string& bytes) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(at);
    stream << bytes;
    ASSERT_TRUE(stream.good());
  }
  std::string first_file() const { return store() + "/commitlog/00000000000000000000"; }

  JsonValue json(const std::vector<std::string>& arguments, int code) {
    const Finished run = kerolox(arguments);
    EXPECT_EQ(run.code, code) << run.out << run.err;
    auto documents = json_lines_of(run.out);
    EXPECT_EQ(documents.size(), 1U);
    return documents.empty() ? JsonValue() : std::move(documents.front());
  }
  JsonValue verify(int code) {
    return json({"store", "verify", "--store", store(), "--output=json"}, code);
  }
};

std::string text(const JsonValue& value) { return value.text(); }

TEST_F(StoreCommandsTest, LookingChangesNothingInAStoreOfOurs) {
  put_lines("a\nb\nc\n", {"--log_file_bytes=4096"});
  const auto before = tree_of(store());
  for (const std::vector<std::string>& look : looks(store())) {
    EXPECT_EQ(kerolox(look).code, 0) << look[1];
    EXPECT_TRUE(tree_of(store()) == before) << look[1];
  }
}

TEST_F(StoreCommandsTest, LookingChangesNothingInAStoreOfJavas) {
  for (const char* name : {"533-small-clean", "533-small-killed", "497-small-killed"}) {
    fs::remove_all(store());
    unpack(std::string("stores/") + name + ".tar.zst");
    const auto before = tree_of(store());
    for (const std::vector<std::string>& look : looks(store())) {
      const Finished run = kerolox(look);
      EXPECT_EQ(run.code, 0) << name << " " << look[1] << ": " << run.err;
      EXPECT_TRUE(tree_of(store()) == before) << name << " " << look[1];
    }
  }
}

TEST_F(StoreCommandsTest, AMissingStoreIsNamedAndNotMade) {
  for (std::vector<std::string>& look : looks(store())) {
    expect_fault(kerolox(look), 1, {"kerolox ", store()});
  }
  expect_fault(kerolox({"store", "recover", "--store", store()}), 1,
               {"kerolox store recover: ", store()});
  expect_fault(kerolox({"bench", "read", "--dir", store()}), 1, {"kerolox bench read: ", store()});
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(StoreCommandsTest, AStoreThatMayNotBeReadIsRefusedWithItsCause) {
  put_lines("a\n", {"--log_file_bytes=4096"});
  std::vector<std::string> unprivileged;
  if (::geteuid() == 0) {  // for whom nothing is unreadable
    unprivileged = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    fs::permissions(path(""), fs::perms::owner_all | fs::perms::others_exec);
  }
  fs::permissions(first_file(), fs::perms::none);
  for (std::vector<std::string>& look : looks(store())) {
    expect_fault(kerolox(look, {.wrapper = unprivileged}), 1,
                 {"kerolox ", "Permission denied", first_file()});
  }
  fs::permissions(store(), fs::perms::none);
  for (std::vector<std::string>& look : looks(store())) {
    expect_fault(kerolox(look, {.wrapper = unprivileged}), 1, {"Permission denied"});
  }
  const RunOptions writer{.input = "x", .wrapper = unprivileged};
  expect_fault(kerolox({"put", "--store", store(), "--topic=t"}, writer), 1,
               {"kerolox put: ", "Permission denied"});
  fs::permissions(store(), fs::perms::owner_all);
}

TEST_F(StoreCommandsTest, ForeignAndTruncatedFilesAreNamed) {
  put_lines("a\n", {"--log_file_bytes=4096"});
  std::ofstream(store() + "/commitlog/notes.txt") << "x";
  expect_fault(kerolox({"store", "inspect", "--store", store()}), 1, {"notes.txt"});
  fs::remove(store() + "/commitlog/notes.txt");
  fs::copy(first_file(), store() + "/commitlog/00000000000000004096");
  fs::resize_file(store() + "/commitlog/00000000000000004096", 100);
  expect_fault(kerolox({"store", "verify", "--store", store()}), 1, {"00000000000000004096"});
}

TEST_F(StoreCommandsTest, ALostFileOfSyncedRecordsIsNamedEverywhere) {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += std::to_string(i) + "\n";
  }
  put_lines(lines, {"--log_file_bytes=4096"});
  const fs::path lost = store() + "/commitlog/00000000000000004096";
  ASSERT_TRUE(fs::exists(lost));
  for (const fs::directory_entry& file : fs::directory_iterator(store() + "/commitlog")) {
    if (file.path() > lost) {
      fs::remove(file.path());
    }
  }
  fs::remove(lost);
  EXPECT_FALSE(verify(1)["good"].boolean());
  const JsonValue seen = json({"store", "inspect", "--store", store(), "--output=json"}, 0);
  EXPECT_FALSE(text(seen["lost_file"]).empty());
  const Finished put = kerolox({"put", "--store", store(), "--topic=t"}, {.input = "x"});
  EXPECT_EQ(put.code, 1);
  EXPECT_NE(put.err.find("a log file is missing"), std::string::npos) << put.err;
}

TEST_F(StoreCommandsTest, SizesChosenAtCreationAreShownAndKept) {
  put_lines("a\n", {"--log_file_bytes=4096", "--queue_file_bytes=400", "--index_slots=100"});
  const JsonValue seen = json({"store", "inspect", "--store", store(), "--output=json"}, 0);
  EXPECT_EQ(seen["queue_file_bytes"].integer(), 400);
  EXPECT_EQ(seen["index_slots"].integer(), 100);
  expect_fault(kerolox({"put", "--store", store(), "--topic=t", "--index_slots=7"}, {.input = "x"}),
               2, {"index_slots", "100"});
}

TEST_F(StoreCommandsTest, InspectTellsOurStoreFromJavas) {
  put_lines("a\nb\n", {"--log_file_bytes=4096"});
  const JsonValue ours = json({"store", "inspect", "--store", store(), "--output=json"}, 0);
  EXPECT_EQ(text(ours["last_writer"]), "kerolox");
  EXPECT_TRUE(ours["clean_stop"].boolean());
  EXPECT_FALSE(ours["locked"].boolean());
  EXPECT_TRUE(ours["record_crc"].boolean());
  EXPECT_EQ(ours["file_bytes"].integer(), 4096);
  EXPECT_EQ(ours["unsynced_bytes"].integer(), 0);
  ASSERT_GE(ours["files"].elements().size(), 1U);
  EXPECT_EQ(text(ours["files"].elements()[0]["path"]), first_file());
  EXPECT_EQ(ours["java_5"]["fit"].boolean(), ours["java_5"]["reasons"].elements().empty());

  fs::remove_all(store());
  unpack("stores/533-small-clean.tar.zst");
  const JsonValue java = json({"store", "inspect", "--store", store(), "--output=json"}, 0);
  EXPECT_EQ(text(java["last_writer"]), "java");
  EXPECT_GT(java["records_v2"].integer(), 0);
  EXPECT_TRUE(java["java_5"]["fit"].boolean());
  EXPECT_FALSE(java["java_4_9"]["fit"].boolean());  // it has a version 2 record
  EXPECT_EQ(java["java_4_9"]["reasons"].elements().size(), 1U);
}

TEST_F(StoreCommandsTest, InspectInTextNamesFilesOffsetsAndFitness) {
  unpack("stores/533-small-clean.tar.zst");
  const Finished run = kerolox({"store", "inspect", "--store", store()});
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* part : {"last writer", "java", "min offset", "end", "flushed offset", "back end",
                           "fit for Java 4.9", "no: ", "fit for Java 5.x", "yes",
                           "00000000000000065536  65536 bytes"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part << " is missing in:\n" << run.out;
  }
}

TEST_F(StoreCommandsTest, VerifyFindsOneFlippedByteAndCountsTheRest) {
  put_lines("first\nsecond\nthird\n", {"--log_file_bytes=4096"});
  const JsonValue good = verify(0);
  EXPECT_TRUE(good["good"].boolean());
  EXPECT_EQ(good["records"].integer(), 3);

  const std::string log = read_file(first_file());
  const std::size_t second = log.find("second");
  ASSERT_NE(second, std::string::npos);
  overwrite(first_file(), static_cast<std::streamoff>(second), "S");
  const JsonValue bad = verify(1);
  EXPECT_FALSE(bad["good"].boolean());
  EXPECT_EQ(bad["records"].integer(), 2);
  ASSERT_EQ(bad["damaged"].elements().size(), 1U);
  const auto at =
      static_cast<std::size_t>(bad["damaged"].elements()[0]["physicalOffset"].integer());
  EXPECT_LT(at, second);
  EXPECT_GT(at, log.find("first"));

  const Finished in_text = kerolox({"store", "verify", "--store", store()});
  EXPECT_EQ(in_text.code, 1);
  EXPECT_NE(in_text.out.find("damaged: "), std::string::npos) << in_text.out;
}

TEST_F(StoreCommandsTest, ExportAndGetSayWhatIsDamagedAndGoOn) {
  put_lines("first\nsecond\nthird\n", {"--log_file_bytes=4096"});
  const std::size_t second = read_file(first_file()).find("second");
  overwrite(first_file(), static_cast<std::streamoff>(second), "S");
  const Finished run = kerolox({"store", "export", "--store", store()});
  EXPECT_EQ(run.code, 1);
  const auto lines = json_lines_of(run.out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(text(lines[1]["text"]), "first");
  EXPECT_EQ(text(lines[2]["type"]), "damaged");
  EXPECT_EQ(text(lines[3]["text"]), "third");
  const std::string damaged_at = std::to_string(lines[2]["physicalOffset"].integer());
  expect_fault(kerolox({"get", "--store", store(), "--physical_offset=" + damaged_at}), 1,
               {"kerolox get: ", "physical_offset=" + damaged_at});
  const Finished probe = kerolox({"store", "export", "--store", store(), "--format=probe"});
  EXPECT_EQ(probe.code, 1);
  EXPECT_NE(probe.out.find("{\"type\":\"unreadable\",\"physicalOffset\":" + damaged_at + "}"),
            std::string::npos)
      << probe.out;
}

TEST_F(StoreCommandsTest, ATornTailOfAKilledWriterIsNoDamage) {
  put_lines("first\nsecond\n", {"--log_file_bytes=4096"});
  // As a kill leaves it: no clean end recorded, half a record behind the last whole one.
  fs::remove_all(store() + "/kerolox");
  const std::string log = read_file(first_file());
  const std::size_t second = log.find("second");
  overwrite(first_file(), static_cast<std::streamoff>(second), std::string(200, '\0'));
  std::ofstream(store() + "/abort") << "1";
  const JsonValue report = verify(0);
  EXPECT_EQ(report["records"].integer(), 1);
  EXPECT_EQ(text(report["end_kind"]), "torn_record");
  EXPECT_EQ(report["notes"].elements().size(), 1U);
}

TEST_F(StoreCommandsTest, RecoverReportsAndCuts) {
  put_lines("first\nsecond\n", {"--log_file_bytes=4096"});
  const JsonValue clean = json({"store", "recover", "--store", store(), "--output=json"}, 0);
  EXPECT_TRUE(clean["clean_stop"].boolean());
  EXPECT_EQ(clean["cut_bytes"].integer(), 0);
  fs::remove_all(store() + "/kerolox");
  const std::size_t second = read_file(first_file()).find("second");
  overwrite(first_file(), static_cast<std::streamoff>(second), "S");
  const JsonValue cut = json({"store", "recover", "--store", store(), "--output=json"}, 0);
  EXPECT_GT(cut["cut_bytes"].integer(), 0);
  EXPECT_TRUE(fs::exists(text(cut["cut_file"])));
  EXPECT_EQ(verify(0)["records"].integer(), 1);
  const Finished in_text = kerolox({"store", "recover", "--store", store()});
  EXPECT_EQ(in_text.code, 0);
  EXPECT_NE(in_text.out.find("recovered in"), std::string::npos);
}

// A put that waits for input, with its store open.
class RunningPut {
 public:
  RunningPut(const std::string& store, const std::string& log_file_bytes) {
    std::array<int, 2> input{};
    std::array<int, 2> output{};
    EXPECT_EQ(::pipe(input.data()), 0);
    EXPECT_EQ(::pipe(output.data()), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(input[0], 0);
      ::dup2(output[1], 1);
      for (const int fd : {input[0], input[1], output[0], output[1]}) {
        ::close(fd);
      }
      ::execl(KEROLOX_COMMAND, "kerolox", "put", "--topic=orders", "--lines", "--store",
              store.c_str(), "--log_file_bytes", log_file_bytes.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    output_ = output[0];
  }
  ~RunningPut() { end(SIGKILL); }
  RunningPut(const RunningPut&) = delete;
  RunningPut& operator=(const RunningPut&) = delete;

  // Sends a line and returns its receipt, which comes while the input stays open.
  std::string put(const std::string& line) {
    const std::string sent = line + "\n";
    EXPECT_EQ(::write(input_, sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
    std::string receipt;
    for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) {
      receipt.push_back(c);
    }
    return receipt;
  }
  void end(int signal) {
    if (pid_ > 0) {
      ::kill(pid_, signal);
      EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
      ::close(input_);
      ::close(output_);
      pid_ = 0;
    }
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  int output_ = -1;
};

TEST_F(StoreCommandsTest, AStoreInUseIsLookedAtButNotOpenedASecondTime) {
  RunningPut writer(store(), "4096");
  EXPECT_NE(writer.put("first").find("\"queueOffset\":0"), std::string::npos);
  EXPECT_NE(writer.put("second").find("\"queueOffset\":1"), std::string::npos);
  const JsonValue info = json({"store", "inspect", "--store", store(), "--output=json"}, 0);
  EXPECT_TRUE(info["locked"].boolean());
  EXPECT_NE(text(info["owner"]).find("pid " + std::to_string(writer.pid())), std::string::npos);
  EXPECT_EQ(verify(0)["records"].integer(), 2);
  for (const std::vector<std::string>& look : looks(store())) {
    EXPECT_EQ(kerolox(look).code, 0) << look[1];
  }
  expect_fault(kerolox({"put", "--store", store(), "--topic=t"}), 1,
               {"kerolox put: ", "pid " + std::to_string(writer.pid())});
  expect_fault(kerolox({"store", "recover", "--store", store()}), 1,
               {"pid " + std::to_string(writer.pid())});
  EXPECT_NE(writer.put("third").find("\"queueOffset\":2"), std::string::npos);
}

TEST_F(StoreCommandsTest, AKilledWritersReceiptsAreAllThere) {
  RunningPut writer(store(), "4096");
  writer.put("first");
  writer.put("second");
  writer.end(SIGKILL);
  const JsonValue info = json({"store", "inspect", "--store", store(), "--output=json"}, 0);
  EXPECT_FALSE(info["locked"].boolean());
  EXPECT_FALSE(info["clean_stop"].boolean());
  EXPECT_EQ(verify(0)["records"].integer(), 2);
  EXPECT_EQ(kerolox({"store", "recover", "--store", store()}).code, 0);
  EXPECT_EQ(verify(0)["records"].integer(), 2);
}

}  // namespace
}  // namespace kerolox::tools
