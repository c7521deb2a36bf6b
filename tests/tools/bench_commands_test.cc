// The benchmarks' reports: their members, and that they add up.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/command_fixture.h"

namespace kerolox::tools {
namespace {

class BenchCommandsTest : public CommandTest {
 protected:
  JsonValue bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "bench");
    arguments.emplace_back("--output=json");
    const Finished run = kerolox(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    auto documents = json_lines_of(run.out);
    EXPECT_EQ(documents.size(), 1U);
    return documents.empty() ? JsonValue() : std::move(documents.front());
  }
};

TEST_F(BenchCommandsTest, AppendReportsRatesLatenciesAndConditions) {
  for (const char* flush : {"sync", "async"}) {
    for (const char* in_flight : {"1", "8"}) {
      const JsonValue report =
          bench({"append", "--dir", path(std::string(flush) + in_flight), "--message_bytes=1KiB",
                 "--threads=2", std::string("--in_flight=") + in_flight,
                 std::string("--flush=") + flush, "--bytes=256KiB", "--log_file_bytes=64KiB"});
      EXPECT_EQ(report["messages"].integer(), 256);
      for (const char* member : {"mib_per_second", "messages_per_second", "cpu_seconds_per_gib",
                                 "seconds", "log_mib_per_second"}) {
        EXPECT_GT(report[member].real(), 0) << member;
      }
      double last = 0;
      for (const char* percentile : {"p50", "p90", "p99", "p999", "max"}) {
        EXPECT_GE(report["latency_us"][percentile].real(), last) << percentile;
        last = report["latency_us"][percentile].real();
      }
      EXPECT_GT(report["rolls"].integer(), 0);
      EXPECT_EQ(report["timed_out"].integer(), 0);
      if (std::string(flush) == "sync") {
        EXPECT_GT(report["syncs"].integer(), 0);
        EXPECT_GE(report["group_size_mean"].real(), 1);
      }
      const JsonValue& conditions = report["conditions"];
      for (const char* member : {"kernel", "file_system"}) {
        EXPECT_GT(conditions[member].text().size(), 0U) << member;
      }
      EXPECT_GT(conditions["cpu_count"].integer(), 0);
      EXPECT_EQ(std::string(conditions["flush"].text()), flush);
      EXPECT_EQ(conditions["message_bytes"].integer(), 1024);
    }
  }
}

TEST_F(BenchCommandsTest, WhatAppendWroteReadCountsWithBothReaders) {
  bench({"append", "--dir", store(), "--message_bytes=100", "--bytes=100000", "--flush=async",
         "--in_flight=64"});
  EXPECT_EQ(kerolox({"store", "verify", "--store", store()}).code, 0);
  for (const char* reader : {"log", "read_only"}) {
    const JsonValue once = bench({"read", "--dir", store(), std::string("--reader=") + reader});
    EXPECT_EQ(once["messages"].integer(), 1000) << reader;
    EXPECT_GT(once["messages_per_second"].real(), 0);
    const JsonValue more =
        bench({"read", "--dir", store(), std::string("--reader=") + reader, "--bytes=1MiB"});
    EXPECT_GT(more["messages"].integer(), 4000) << reader;
  }
}

TEST_F(BenchCommandsTest, AppendStopsAtItsTimeLimit) {
  const JsonValue report =
      bench({"append", "--dir", store(), "--bytes=1TiB", "--seconds=1", "--flush=sync"});
  EXPECT_GE(report["seconds"].real(), 1);
  EXPECT_LT(report["seconds"].real(), 30);
}

TEST_F(BenchCommandsTest, ReportsInTextAreForPeople) {
  const Finished append = kerolox({"bench", "append", "--dir", store(), "--bytes=10KiB"});
  EXPECT_EQ(append.code, 0) << append.err;
  EXPECT_NE(append.out.find("10 messages of 1024 bytes"), std::string::npos) << append.out;
  const Finished read = kerolox({"bench", "read", "--dir", store()});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_NE(read.out.find("10 messages"), std::string::npos) << read.out;
}

TEST_F(BenchCommandsTest, ReadingAnEmptyStoreIsAFaultNotAnEndlessLoop) {
  put_lines("");
  expect_fault(kerolox({"bench", "read", "--dir", store(), "--bytes=1MiB"}), 1,
               {"kerolox bench read: ", "the log is empty"});
}

}  // namespace
}  // namespace kerolox::tools
