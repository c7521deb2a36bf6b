#include "tools/json_lines.h"

#include <gtest/gtest.h>

#include <string>

namespace kerolox::tools {
namespace {

std::string fastjson(std::string_view text) {
  std::string escaped;
  append_fastjson(escaped, text);
  return escaped;
}

// The expectations are what fastjson 1.2.83 prints.
TEST(FastjsonTest, EscapesWhatFastjsonEscapesAndNothingElse) {
  EXPECT_EQ(fastjson("plain / 'text'"), "\"plain / 'text'\"");
  EXPECT_EQ(fastjson("\"\\"), R"("\"\\")");
  EXPECT_EQ(fastjson("\b\t\n\f\r"), R"("\b\t\n\f\r")");
  EXPECT_EQ(fastjson(std::string_view("\x00\x0b\x1f\x7f", 4)), R"("\u0000\u000B\u001F\u007F")");
  EXPECT_EQ(fastjson("\xC2\x80\xC2\x9F\xC2\xA0"), "\"\\u0080\\u009F\xC2\xA0\"");
  EXPECT_EQ(fastjson("\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA"),
            "\"\xE2\x80\xA7\\u2028\\u2029\xE2\x80\xAA\"");
  EXPECT_EQ(fastjson("größe 标签 😀"), "\"größe 标签 😀\"");
}

TEST(JsonLineTest, KeysAreEscapedInTheDialectOfTheLine) {
  JsonLine line(JsonLine::Escapes::kFastjson);
  line.begin_object().add("a\x7f", "b\x7f").add("n", std::int64_t{-1}).end_object();
  EXPECT_EQ(line.take(), "{\"a\\u007F\":\"b\\u007F\",\"n\":-1}\n");
  JsonLine standard;
  standard.begin_object().add("a\x7f", "\n").end_object();
  EXPECT_EQ(standard.take(), "{\"a\x7f\":\"\\n\"}\n");
}

TEST(JsonLineTest, IsReadyForTheNextLineOnceTaken) {
  JsonLine line;
  line.begin_object().add("first", true).end_object();
  EXPECT_EQ(line.take(), "{\"first\":true}\n");
  line.begin_object().key("second").begin_array().number(1).number(2).end_array().end_object();
  EXPECT_EQ(line.take(), "{\"second\":[1,2]}\n");
}

TEST(JsonLineTest, RealNumbersHaveThreeDecimalsAndAreNeverInfinite) {
  JsonLine line;
  line.begin_object().add("a", 1.23456).add("b", 1.0 / 0.0).end_object();
  EXPECT_EQ(line.take(), "{\"a\":1.235,\"b\":0.0}\n");
}

TEST(ReceiptLineTest, HasExactlyThePinnedMembers) {
  JsonLine line;
  const ReceiptLine receipt{.topic = "orders",
                            .queue = QueueId{3},
                            .position = {.offset = PhysicalOffset{216},
                                         .queue_offset = QueueOffset{7},
                                         .record_bytes = 100},
                            .store_host = storage::loopback_host(),
                            .level = {.local = storage::LocalLevel::kDisk}};
  EXPECT_EQ(receipt_line(receipt, line),
            "{\"topic\":\"orders\",\"queueId\":3,\"queueOffset\":7,\"physicalOffset\":216,"
            "\"msgId\":\"7F0000010000000000000000000000D8\",\"level\":\"disk\","
            "\"replicas\":\"none\"}\n");
}

TEST(ReceiptLineTest, ReplicasAreNamedWithTheirCount) {
  EXPECT_EQ(replicas_name({.replicas = storage::ReplicaLevel::kWritten, .replica_count = 2}),
            "written:2");
  EXPECT_EQ(replicas_name({.replicas = storage::ReplicaLevel::kSynced, .replica_count = 1}),
            "synced:1");
}

}  // namespace
}  // namespace kerolox::tools
