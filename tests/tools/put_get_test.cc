// put, get and export together: what goes in comes out.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/command_fixture.h"
#include "tools/text.h"

namespace kerolox::tools {
namespace {

class PutGetTest : public CommandTest {
 protected:
  JsonValue get(const std::vector<std::string>& which) {
    std::vector<std::string> arguments = {"get", "--store", store()};
    arguments.insert(arguments.end(), which.begin(), which.end());
    const Finished run = kerolox(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    auto documents = json_lines_of(run.out);
    EXPECT_EQ(documents.size(), 1U);
    return documents.empty() ? JsonValue() : std::move(documents.front());
  }
};

std::string text(const JsonValue& value) { return value.text(); }

std::vector<std::string> member_names(const JsonValue& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.members()) {
    names.push_back(name);
  }
  return names;
}

TEST_F(PutGetTest, OneMessageComesBackByItsOffsetAndByItsId) {
  const std::string body("line one\nline two\0 and a zero byte", 34);
  const Finished put =
      kerolox({"put", "--store", store(), "--topic", "orders", "--queue=3", "--keys=a b",
               "--tags=paid", "--property=color=red", "--property", "note=1=2"},
              {.input = body});
  ASSERT_EQ(put.code, 0) << put.err;
  const auto receipts = json_lines_of(put.out);
  ASSERT_EQ(receipts.size(), 1U);
  const JsonValue& receipt = receipts.front();
  EXPECT_EQ(member_names(receipt),
            (std::vector<std::string>{"topic", "queueId", "queueOffset", "physicalOffset", "msgId",
                                      "level", "replicas"}));
  EXPECT_EQ(text(receipt["level"]), "disk");
  EXPECT_EQ(text(receipt["replicas"]), "none");
  EXPECT_EQ(receipt["queueId"].integer(), 3);

  const JsonValue message = get({"--physical_offset", "0"});
  EXPECT_EQ(text(message["topic"]), "orders");
  EXPECT_EQ(message["queueId"].integer(), 3);
  EXPECT_EQ(message["queueOffset"].integer(), 0);
  EXPECT_EQ(text(message["properties"]["TAGS"]), "paid");
  EXPECT_EQ(text(message["properties"]["KEYS"]), "a b");
  EXPECT_EQ(text(message["properties"]["color"]), "red");
  EXPECT_EQ(text(message["properties"]["note"]), "1=2");
  EXPECT_EQ(decode_base64(text(message["body"])), body);
  EXPECT_EQ(message["text"].text(), body);
  EXPECT_EQ(get({"--id", text(receipt["msgId"])})["body"].text(), message["body"].text());
}

TEST_F(PutGetTest, BodyOnlyIsTheBodyByteForByte) {
  const std::string body("\x00\xFF\xFE raw", 7);
  ASSERT_EQ(kerolox({"put", "--store", store(), "--topic", "t"}, {.input = body}).code, 0);
  const Finished run = kerolox({"get", "--store", store(), "--physical_offset=0", "--body_only"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, body);
  EXPECT_FALSE(get({"--physical_offset=0"}).find("text") != nullptr);
}

TEST_F(PutGetTest, LinesBecomeMessagesInTheirOrder) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) {
    lines.append("message ").append(std::to_string(i)).append("\n");
  }
  lines.append("without a line feed");
  for (const char* flush : {"--flush=sync", "--flush=async"}) {
    std::filesystem::remove_all(store());
    const Finished put = put_lines(lines, {flush, "--in_flight=7"});
    const auto receipts = json_lines_of(put.out);
    ASSERT_EQ(receipts.size(), 1001U);
    for (int i = 0; i < 1001; ++i) {
      EXPECT_EQ(receipts[static_cast<std::size_t>(i)]["queueOffset"].integer(), i);
    }
    const Finished exported = kerolox({"store", "export", "--store", store()});
    EXPECT_EQ(exported.code, 0) << exported.err;
    const auto messages = json_lines_of(exported.out);
    ASSERT_EQ(messages.size(), 1002U);
    EXPECT_EQ(text(messages[0]["type"]), "store");
    EXPECT_EQ(text(messages[1]["text"]), "message 0");
    EXPECT_EQ(text(messages[1001]["text"]), "without a line feed");
    for (std::size_t i = 0; i < 1001; ++i) {
      EXPECT_EQ(messages[i + 1]["physicalOffset"].integer(),
                receipts[i]["physicalOffset"].integer());
      EXPECT_EQ(text(messages[i + 1]["msgId"]), text(receipts[i]["msgId"]));
    }
  }
}

TEST_F(PutGetTest, AsyncReceiptsSayMemory) {
  const auto receipts = json_lines_of(put_lines("a\nb\n", {"--flush=async"}).out);
  ASSERT_EQ(receipts.size(), 2U);
  EXPECT_EQ(text(receipts[1]["level"]), "memory");
}

TEST_F(PutGetTest, NoInputInLinesModeIsNoMessageAndNoFault) { EXPECT_EQ(put_lines("").out, ""); }

TEST_F(PutGetTest, ASecondPutGoesOnWhereTheFirstEnded) {
  put_lines("a\nb\n", {"--log_file_bytes=4096"});
  const auto receipts = json_lines_of(put_lines("c\n").out);
  ASSERT_EQ(receipts.size(), 1U);
  EXPECT_EQ(receipts[0]["queueOffset"].integer(), 2);
  EXPECT_EQ(std::filesystem::file_size(store() + "/commitlog/00000000000000000000"), 4096U);
}

TEST_F(PutGetTest, AnotherFileSizeThanTheStoresIsWrongUse) {
  put_lines("a\n", {"--log_file_bytes=4096"});
  const auto before = tree_of(store() + "/commitlog");
  expect_fault(kerolox({"put", "--store", store(), "--topic=t", "--log_file_bytes=8192"}), 2,
               {"kerolox put: ", "4096"});
  EXPECT_EQ(tree_of(store() + "/commitlog"), before);
}

TEST_F(PutGetTest, RecordCrcIsLeftOutOnRequest) {
  ASSERT_EQ(kerolox({"put", "--store", store(), "--topic=t", "--record_crc=false"}).code, 0);
  EXPECT_FALSE(get({"--physical_offset=0"})["properties"].find("__CRC32#") != nullptr);
  std::filesystem::remove_all(store());
  ASSERT_EQ(kerolox({"put", "--store", store(), "--topic=t"}).code, 0);
  EXPECT_TRUE(get({"--physical_offset=0"})["properties"].find("__CRC32#") != nullptr);
}

TEST_F(PutGetTest, TopicsThatCannotBeStoredAreWrongUse) {
  for (const std::string& topic : {std::string(), std::string("a/b"), std::string(128, 't')}) {
    const Finished run = kerolox({"put", "--store", store(), "--topic=" + topic}, {.input = "x"});
    expect_fault(run, 2, {"kerolox put: ", "topic"});
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(kerolox({"put", "--store", store(), "--topic=" + std::string(127, 't')}).code, 0);
}

TEST_F(PutGetTest, ABodyOverTheLimitIsRefusedBeforeItIsStored) {
  const std::string body(4 * 1024 * 1024 + 1, 'x');
  expect_fault(kerolox({"put", "--store", store(), "--topic=t"}, {.input = body}), 2,
               {"standard input", "bytes_max=4194304"});
  const Finished lines = kerolox({"put", "--store", store(), "--topic=t", "--lines"},
                                 {.input = "good\n" + body + "\nnever\n"});
  expect_fault(lines, 2, {"line 2", "bytes_max=4194304"});
  EXPECT_EQ(lines_of(lines.out).size(), 1U);  // what was acknowledged before the fault
}

TEST_F(PutGetTest, APlanLineThatIsNoneIsNamedByItsNumber) {
  expect_fault(kerolox({"put", "--store", store(), "--plan"}, {.input = "{}\n"}), 2,
               {"line 1", "member topic is not a string", "storeprobe plan"});
  expect_fault(kerolox({"put", "--store", store(), "--plan"}, {.input = "no json\n"}), 2,
               {"line 1", "not a JSON object"});
}

// But for the eight bytes of each record's store timestamp, behind the born host.
std::string without_store_timestamps(std::string log) {
  std::size_t at = 0;
  const auto number = [&log](std::size_t offset) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(log[offset + i]);
    }
    return value;
  };
  while (at + 88 < log.size() && (number(at + 4) & 0xFFFFFFF0U) == 0xDAA320A0U) {
    const bool born_v6 = (number(at + 36) & 0x10U) != 0;
    std::fill_n(log.begin() + static_cast<std::ptrdiff_t>(at + (born_v6 ? 68 : 56)), 8, '\0');
    at += number(at);
  }
  return log;
}

TEST_F(PutGetTest, APlanIsStoredByteForByteAsRocketMqStoresIt) {
  const Finished plan =
      run_program({"zstd", "-dcq", KEROLOX_SOURCE_DIR "/tests/golden/plan/plan.jsonl.zst"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  unpack("plan/commitlog-533.tar.zst");
  const Finished put =
      kerolox({"put", "--store", store(), "--plan", "--record_crc=false", "--log_file_bytes=64KiB"},
              {.input = plan.out});
  ASSERT_EQ(put.code, 0) << put.err;
  EXPECT_GT(lines_of(put.out).size(), 160U);  // batches have a receipt for each message
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("commitlog"))) {
    const std::string ours = read_file(store() + "/commitlog/" + entry.path().filename().string());
    EXPECT_TRUE(without_store_timestamps(ours) == without_store_timestamps(read_file(entry.path())))
        << entry.path().filename();
    ++compared;
  }
  EXPECT_EQ(compared, 3);
}

TEST_F(PutGetTest, WhatIsNotThereIsSaidToBeMissing) {
  put_lines("a\nb\n");
  expect_fault(kerolox({"get", "--store", store(), "--physical_offset=1"}), 1, {"kerolox get: "});
  expect_fault(kerolox({"get", "--store", store(), "--physical_offset=1000000"}), 1,
               {"kerolox get: "});
  expect_fault(kerolox({"get", "--store", store(), "--id=zz"}), 2, {"kerolox get: "});
  // The right place, but another store's host.
  expect_fault(kerolox({"get", "--store", store(), "--id=0A00000100002A9F0000000000000000"}), 1,
               {"no message begins there", "127.0.0.1:0", "10.0.0.1:10911"});
}

}  // namespace
}  // namespace kerolox::tools
