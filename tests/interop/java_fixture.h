// Runs RocketMQ through the reference kit, on the stores of a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tools/command_fixture.h"

namespace kerolox::interop {

// Sizes and messages of a store, as the kit's options; empty sizes are RocketMQ's own.
struct Plan {
  std::string seed;
  std::string count;
  std::vector<std::string> more;  // --delay-levels, --v2-topic
  std::string log_file_bytes = "65536";
};

class JavaTest : public tools::CommandTest {
 protected:
  using Arguments = std::vector<std::string>;

  static tools::Finished refcluster(const Arguments& arguments) {
    Arguments command = {std::getenv("KEROLOX_REFCLUSTER")};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return tools::run_program(command);
  }
  static tools::Finished storeprobe(const Arguments& arguments,
                                    const std::string& version = "5.3.3") {
    Arguments command = {"storeprobe", "--version", version};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return refcluster(command);
  }
  // What Java needs to be told of a store's sizes each time that it opens it.
  static Arguments sizes(const Plan& plan) {
    return plan.log_file_bytes.empty()
               ? Arguments()
               : Arguments{"--file-size", plan.log_file_bytes, "--cq-file-size",
                           "20000",       "--index-slots",     "500"};
  }
  static Arguments messages(const Plan& plan) {
    Arguments all = {"--seed", plan.seed, "--count", plan.count};
    all.insert(all.end(), plan.more.begin(), plan.more.end());
    return all;
  }
  static Arguments joined(Arguments first, const Arguments& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }

  // Our store with the plan's messages, closed.
  void put_plan(const Plan& plan, const Arguments& more, const std::string& version = "5.3.3") {
    const tools::Finished planned = storeprobe(joined({"plan"}, messages(plan)), version);
    ASSERT_EQ(planned.code, 0) << planned.err;
    Arguments put = joined({"put", "--store", store(), "--plan"}, more);
    if (!plan.log_file_bytes.empty()) {
      put.push_back("--log_file_bytes=" + plan.log_file_bytes);
    }
    const tools::Finished stored = kerolox(put, {.input = planned.out});
    ASSERT_EQ(stored.code, 0) << stored.err;
  }
  // A listing by us and by Java, which is the later one since it opens the store for real.
  void expect_equal_listings(const Plan& plan, const std::string& version = "5.3.3") {
    const tools::Finished ours =
        kerolox({"store", "export", "--store", store(), "--format=probe", "--all_keys"});
    ASSERT_EQ(ours.code, 0) << ours.err;
    ASSERT_TRUE(std::filesystem::exists(store() + "/abort")) << "Java would dispatch nothing";
    const tools::Finished java =
        storeprobe(joined({"dump", "--store", store(), "--all-keys"}, sizes(plan)), version);
    ASSERT_EQ(java.code, 0) << java.err;
    EXPECT_GT(tools::lines_of(java.out).size(), 100U);
    EXPECT_TRUE(ours.out == java.out) << first_difference(ours.out, java.out);
  }

 private:
  static std::string first_difference(const std::string& ours, const std::string& java) {
    const std::vector<std::string> a = tools::lines_of(ours);
    const std::vector<std::string> b = tools::lines_of(java);
    for (std::size_t line = 0; line < a.size() && line < b.size(); ++line) {
      if (a[line] != b[line]) {
        return "ours: " + a[line] + "\njava: " + b[line];
      }
    }
    return std::to_string(a.size()) + " lines of ours, " + std::to_string(b.size()) + " of Java's";
  }
};

}  // namespace kerolox::interop
