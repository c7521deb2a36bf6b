// The golden vectors, byte for byte in both directions.
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <string>
#include <vector>

#include "kerolox/storage/client_batch.h"
#include "kerolox/storage/message_id.h"
#include "kerolox/storage/properties.h"
#include "kerolox/storage/record.h"
#include "storage/codec_support.h"
#include "support/golden.h"

namespace kerolox::storage {
namespace {

using kerolox::test::bytes_of_hex;
using kerolox::test::read_golden;
using kerolox::test::read_golden_hex;
using test::encode;

const rapidjson::Document& vectors() {
  static const rapidjson::Document document = [] {
    rapidjson::Document parsed;
    parsed.Parse(read_golden("vectors/vectors.json").c_str());
    EXPECT_FALSE(parsed.HasParseError());
    return parsed;
  }();
  return document;
}

std::string string_of(const rapidjson::Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

Host host_of(const rapidjson::Value& value) {
  std::string address = string_of(value[0]);
  if (address.find(':') != std::string::npos) {
    address = "[" + address + "]";
  }
  return Host::parse(address + ":" + std::to_string(value[1].GetInt())).value();
}

// A message as the vector describes it; owns what the message borrows.
struct Described {
  explicit Described(const rapidjson::Value& decoded)
      : topic(string_of(decoded["topic"])), body(bytes_of_hex(string_of(decoded["bodyHex"]))) {
    for (const auto& member : decoded["properties"].GetObject()) {
      texts.push_back({string_of(member.name), string_of(member.value)});
    }
    for (const auto& [name, value] : texts) {
      properties.push_back({name, value});
    }
    message.topic = topic;
    message.queue = {decoded["queueId"].GetInt()};
    message.body = body;
    message.properties = properties;
    message.flag = decoded["flag"].GetInt();
    message.sys_flag = decoded["sysFlag"].GetInt();
    message.born_timestamp_ms = decoded["bornTimestamp"].GetInt64();
    message.born_host = host_of(decoded["bornHost"]);
    message.store_host = host_of(decoded["storeHost"]);
    message.reconsume_times = decoded["reconsumeTimes"].GetInt();
    message.prepared_transaction_offset = {decoded["preparedTransactionOffset"].GetInt64()};
    options.record_crc = decoded.HasMember("recordCrc");
    options.place = {.offset = {decoded["physicalOffset"].GetInt64()},
                     .queue_offset = {decoded["queueOffset"].GetInt64()},
                     .store_timestamp_ms = decoded["storeTimestamp"].GetInt64()};
  }

  std::string topic;
  std::vector<std::byte> body;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<Property> properties;
  Message message;
  test::EncodeOptions options;
};

TEST(GoldenRecordTest, EveryRecordIsEncodedByteForByte) {
  for (const auto& vector : vectors()["records"].GetArray()) {
    const Described described(vector["decoded"]);
    const auto encoded = encode(described.message, described.options);
    ASSERT_TRUE(encoded.has_value()) << encoded.error().text();
    EXPECT_EQ(*encoded, read_golden_hex("vectors/" + string_of(vector["file"])))
        << string_of(vector["name"]);
  }
}

TEST(GoldenRecordTest, EveryRecordIsDecodedIntoItsFields) {
  for (const auto& vector : vectors()["records"].GetArray()) {
    const Described described(vector["decoded"]);
    const auto bytes = read_golden_hex("vectors/" + string_of(vector["file"]));
    RecordCheck check = test::check_all();
    check.expected_offset = described.options.place.offset;

    const DecodedRecord decoded = decode_record(bytes, check);

    ASSERT_EQ(decoded.kind, RecordKind::kRecord) << decoded.fault;
    const MessageView& view = decoded.view;
    EXPECT_EQ(decoded.bytes, vector["size"].GetInt64());
    EXPECT_EQ(view.topic, described.topic);
    EXPECT_EQ(view.queue, described.message.queue);
    EXPECT_EQ(view.queue_offset, described.options.place.queue_offset);
    EXPECT_EQ(view.offset, described.options.place.offset);
    EXPECT_EQ(view.body_crc, vector["decoded"]["bodyCrc"].GetUint());
    EXPECT_EQ(view.flag, described.message.flag);
    EXPECT_EQ(view.sys_flag, described.message.sys_flag);
    EXPECT_EQ(view.born_timestamp_ms, described.message.born_timestamp_ms);
    EXPECT_EQ(view.store_timestamp_ms, described.options.place.store_timestamp_ms);
    EXPECT_EQ(view.born_host, described.message.born_host);
    EXPECT_EQ(view.store_host, described.message.store_host);
    EXPECT_EQ(view.reconsume_times, described.message.reconsume_times);
    EXPECT_EQ(view.version, string_of(vector["decoded"]["magic"]) == "DAA320A7" ? 1 : 2);
    EXPECT_EQ(test::text_of(view.body), test::text_of(described.body));
    EXPECT_EQ(has_record_crc(view.record), described.options.record_crc);
    EXPECT_EQ(record_crc_matches(view.record), described.options.record_crc);
    for (const Property& property : described.properties) {
      EXPECT_EQ(view.property(property.name), property.value) << property.name;
    }
  }
}

TEST(GoldenRecordTest, EveryRecordHasItsIdAndTagsCode) {
  for (const auto& vector : vectors()["records"].GetArray()) {
    const Described described(vector["decoded"]);
    const MessageId id{.store_host = *described.message.store_host,
                       .offset = described.options.place.offset};
    EXPECT_EQ(id.text(), string_of(vector["offsetMsgId"]));
    const MessageId parsed = MessageId::parse(string_of(vector["offsetMsgId"])).value();
    EXPECT_EQ(parsed.store_host, id.store_host);
    EXPECT_EQ(parsed.offset, id.offset);
    if (described.topic != "SCHEDULE_TOPIC_XXXX") {  // there the code is a time
      const auto bytes = read_golden_hex("vectors/" + string_of(vector["file"]));
      EXPECT_EQ(tags_code(decode_record(bytes, {}).view.tags()), vector["tagsCode"].GetInt64());
    }
  }
}

TEST(GoldenRecordTest, AClientBatchBecomesItsStoredRecordsAndIsEncodedBack) {
  const auto& batch = vectors()["batch"];
  const auto body = read_golden_hex("vectors/" + string_of(batch["clientBody"]));
  const Described basic(vectors()["records"][0]["decoded"]);
  test::EncodeOptions options = basic.options;
  options.place.offset = {batch["firstPhysicalOffset"].GetInt64()};
  options.place.queue_offset = {batch["firstQueueOffset"].GetInt64()};

  const auto messages = split_client_batch(body, basic.message);

  ASSERT_TRUE(messages.has_value()) << messages.error().text();
  ASSERT_EQ(messages->size(), batch["count"].GetUint());
  std::vector<std::byte> stored;
  for (const Message& message : *messages) {
    const auto record = encode(message, options).value();
    stored.insert(stored.end(), record.begin(), record.end());
    options.place.offset.value += static_cast<std::int64_t>(record.size());
    options.place.queue_offset.value += 1;
  }
  EXPECT_EQ(stored, read_golden_hex("vectors/" + string_of(batch["stored"])));
  EXPECT_EQ(encode_client_batch(*messages).value(), body);
}

TEST(GoldenRecordTest, AWholeLogFileIsTwoRecordsAndABlank) {
  const auto& file = vectors()["commitlog_1024"];
  const auto bytes = read_golden_hex("vectors/commitlog_1024.hex");
  std::size_t at = 0;
  for (const auto& offset : file["recordOffsets"].GetArray()) {
    ASSERT_EQ(at, offset.GetUint());
    RecordCheck check = test::check_all();
    check.expected_offset = PhysicalOffset{static_cast<std::int64_t>(at)};
    const DecodedRecord decoded = decode_record(std::span(bytes).subspan(at), check);
    ASSERT_EQ(decoded.kind, RecordKind::kRecord) << decoded.fault;
    at += static_cast<std::size_t>(decoded.bytes);
  }
  ASSERT_EQ(at, file["blankAt"].GetUint());
  const DecodedRecord blank = decode_record(std::span(bytes).subspan(at), {});
  EXPECT_EQ(blank.kind, RecordKind::kBlank);
  EXPECT_EQ(blank.bytes, file["blankSize"].GetInt64());
  const auto encoded = encode_blank(blank.bytes);
  EXPECT_TRUE(std::ranges::equal(encoded, std::span(bytes).subspan(at, 8)));
}

TEST(GoldenRecordTest, HashesAndChecksumsAreThoseOfTheVectors) {
  for (const auto& member : vectors()["stringHashes"].GetObject()) {
    EXPECT_EQ(java_string_hash(string_of(member.name)), member.value["hashCode"].GetInt());
  }
  for (const auto& member : vectors()["crc31"].GetObject()) {
    EXPECT_EQ(crc31(test::bytes_of(string_of(member.name))), member.value.GetUint());
  }
}

}  // namespace
}  // namespace kerolox::storage
