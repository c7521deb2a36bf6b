// What the command makes of its arguments.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tools/command_fixture.h"

namespace kerolox::tools {
namespace {

using CommandLineTest = CommandTest;

const std::vector<std::vector<std::string>> kCommands = {{"put"},
                                                         {"get"},
                                                         {"store", "inspect"},
                                                         {"store", "verify"},
                                                         {"store", "export"},
                                                         {"store", "recover"},
                                                         {"bench", "append"},
                                                         {"bench", "read"}};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : " ").append(word);
  }
  return text;
}

TEST_F(CommandLineTest, AloneOrWithHelpItListsEveryCommand) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"help"}, {"--help"}}) {
    const Finished run = kerolox(arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(run.err, "");
    for (const std::vector<std::string>& command : kCommands) {
      EXPECT_NE(run.out.find("kerolox " + joined(command)), std::string::npos) << joined(command);
    }
  }
}

TEST_F(CommandLineTest, HelpOfACommandIsTheSameInBothForms) {
  for (const std::vector<std::string>& command : kCommands) {
    std::vector<std::string> before = {"help"};
    before.insert(before.end(), command.begin(), command.end());
    std::vector<std::string> behind = command;
    behind.emplace_back("--help");
    const Finished one = kerolox(before);
    const Finished other = kerolox(behind);
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(other.code, 0) << other.err;
    EXPECT_EQ(one.out, other.out);
    EXPECT_NE(one.out.find("(required)"), std::string::npos) << one.out;
  }
}

TEST_F(CommandLineTest, HelpNamesEveryFlagOfPut) {
  const Finished run = kerolox({"help", "put"});
  for (const char* flag :
       {"--store", "--topic", "--queue", "--keys", "--tags", "--property", "--flush", "--lines",
        "--plan", "--in_flight", "--log_file_bytes", "--record_crc"}) {
    EXPECT_NE(run.out.find(flag), std::string::npos) << flag;
  }
}

TEST_F(CommandLineTest, VersionIsThatOfTheProject) {
  const Finished run = kerolox({"--version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "kerolox " KEROLOX_VERSION "\n");
}

TEST_F(CommandLineTest, AnUnknownCommandNamesTheNearest) {
  expect_fault(kerolox({"putt"}), 2, {"kerolox: putt: no such command", "did you mean put?"});
  expect_fault(kerolox({"store", "verfy", "--store", "x"}), 2,
               {"store verfy", "did you mean store verify?"});
  expect_fault(kerolox({"store"}), 2, {"store: needs one of its commands"});
  expect_fault(kerolox({"help", "gte"}), 2, {"gte: no such command", "did you mean get?"});
}

TEST_F(CommandLineTest, AnUnknownFlagNamesTheNearest) {
  expect_fault(kerolox({"put", "--store", store(), "--topc=t"}), 2,
               {"kerolox put: --topc: unknown flag", "did you mean --topic?"});
  expect_fault(kerolox({"store", "export", "--stroe=x"}), 2,
               {"kerolox store export: --stroe", "--store"});
  // A flag of another command, and one of gflags itself, are as unknown as any.
  expect_fault(kerolox({"get", "--store=x", "--topic=t"}), 2, {"--topic: unknown flag"});
  expect_fault(kerolox({"get", "--store=x", "--flagfile=t"}), 2, {"--flagfile: unknown flag"});
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(CommandLineTest, AMissingValueAndAMissingFlagAreNamed) {
  expect_fault(kerolox({"put", "--store"}), 2, {"--store: needs a value", "--store=DIR"});
  expect_fault(kerolox({"put", "--store", "--topic=t"}), 2, {"--store: needs a value"});
  expect_fault(kerolox({"put", "--topic=t"}), 2, {"--store: is missing"});
  expect_fault(kerolox({"put", "--store", store()}), 2, {"--topic: is missing"});
  expect_fault(kerolox({"store", "inspect"}), 2, {"--store: is missing"});
  expect_fault(kerolox({"bench", "append"}), 2, {"--dir: is missing"});
  expect_fault(kerolox({"get", "--store=x"}), 2, {"exactly one of both is needed"});
  expect_fault(kerolox({"get", "--store=x", "--id=A", "--physical_offset=0"}), 2,
               {"exactly one of both is needed"});
}

TEST_F(CommandLineTest, ValuesOutsideTheirKindAreNamed) {
  const std::vector<std::string> put = {"put", "--store", store(), "--topic", "t"};
  const std::pair<const char*, std::vector<std::string>> faults[] = {
      {"--queue=-1", {"--queue: out of range: -1", "from 0 to 2147483647"}},
      {"--queue=2147483648", {"--queue: out of range"}},
      {"--queue=x", {"--queue: not a value it takes: x", "whole number"}},
      {"--queue=1x", {"--queue: not a value it takes: 1x"}},
      {"--queue=99999999999999999999", {"--queue: not a value it takes"}},
      {"--in_flight=0", {"--in_flight: out of range: 0"}},
      {"--flush=later", {"--flush: no such choice: later", "sync|async"}},
      {"--lines=perhaps", {"--lines: not a value it takes: perhaps", "true or false"}},
      {"--log_file_bytes=12", {"--log_file_bytes: too small: 12"}},
      {"--log_file_bytes=1GB", {"--log_file_bytes: not a size: 1GB"}},
      {"--log_file_bytes=-1", {"--log_file_bytes: not a size: -1"}},
      {"--log_file_bytes=9999999999TiB", {"--log_file_bytes: not a size"}},
      {"--property=x", {"--property=x: is not NAME=VALUE"}},
      {"--property=x=", {"is not NAME=VALUE"}},
      {"--property==x", {"is not NAME=VALUE"}},
      {"orders", {"orders: unexpected argument"}},
      {"--", {"--: unexpected argument"}}};
  for (const auto& [flag, parts] : faults) {
    std::vector<std::string> arguments = put;
    arguments.emplace_back(flag);
    expect_fault(kerolox(arguments), 2, parts);
  }
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(CommandLineTest, APropertyGivenTwiceIsRefused) {
  expect_fault(
      kerolox({"put", "--store", store(), "--topic=t", "--property=a=1", "--property=a=2"}), 2,
      {"the property is given twice"});
  expect_fault(kerolox({"put", "--store", store(), "--topic=t", "--tags=x", "--property=TAGS=y"}),
               2, {"the property is given twice"});
}

TEST_F(CommandLineTest, FlagsThatThePlanSaysAreRefusedBesideIt) {
  for (const char* flag :
       {"--topic=t", "--queue=1", "--keys=k", "--tags=t", "--property=a=b", "--lines"}) {
    expect_fault(kerolox({"put", "--store", store(), "--plan", flag}), 2,
                 {"has no meaning with --plan"});
  }
  expect_fault(kerolox({"store", "export", "--store=x", "--all_keys"}), 2, {"--format=probe"});
}

TEST_F(CommandLineTest, AllSpellingsOfAFlagAreTheSame) {
  const std::vector<std::vector<std::string>> spellings = {{"--log_file_bytes=8192"},
                                                           {"--log-file-bytes", "8KiB"},
                                                           {"-log_file_bytes", "8192"},
                                                           {"--log-file_bytes=8192B"}};
  int number = 0;
  for (const std::vector<std::string>& spelling : spellings) {
    const std::string directory = path("spelt-" + std::to_string(number++));
    std::vector<std::string> arguments = {"put", "--topic=t", "--norecord_crc", "--store",
                                          directory};
    arguments.insert(arguments.end(), spelling.begin(), spelling.end());
    const Finished run = kerolox(arguments, {.input = "x"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(std::filesystem::file_size(directory + "/commitlog/00000000000000000000"), 8192U);
  }
}

}  // namespace
}  // namespace kerolox::tools
