// The golden vectors, byte for byte in both directions.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kerolox/storage/client_batch.h"
#include "kerolox/storage/message_id.h"
#include "kerolox/storage/properties.h"
#include "kerolox/storage/record.h"
#include "storage/codec_support.h"
#include "support/golden.h"
#include "support/json_value.h"

namespace kerolox::storage {
namespace {

using kerolox::test::bytes_of_hex;
using kerolox::test::JsonValue;
using kerolox::test::read_golden;
using kerolox::test::read_golden_hex;
using test::encode;

const JsonValue& vectors() {
  static const JsonValue value = JsonValue::parse(read_golden("vectors/vectors.json"));
  return value;
}

Host host_of(const JsonValue& value) {
  std::string address = value.at(0).text();
  if (address.find(':') != std::string::npos) {
    address = "[" + address + "]";
  }
  return Host::parse(address + ":" + std::to_string(value.at(1).number())).value();
}

// A message as the vector describes it; owns what the message borrows.
struct Described {
  explicit Described(const JsonValue& decoded)
      : topic(decoded["topic"].text()), body(bytes_of_hex(decoded["bodyHex"].text())) {
    for (const auto& [name, value] : decoded["properties"].children()) {
      texts.push_back({name, value.text()});
    }
    for (const auto& [name, value] : texts) {
      properties.push_back({name, value});
    }
    message.topic = topic;
    message.queue = {static_cast<std::int32_t>(decoded["queueId"].number())};
    message.body = body;
    message.properties = properties;
    message.flag = static_cast<std::int32_t>(decoded["flag"].number());
    message.sys_flag = static_cast<std::int32_t>(decoded["sysFlag"].number());
    message.born_timestamp_ms = decoded["bornTimestamp"].number();
    message.born_host = host_of(decoded["bornHost"]);
    message.store_host = host_of(decoded["storeHost"]);
    message.reconsume_times = static_cast<std::int32_t>(decoded["reconsumeTimes"].number());
    message.prepared_transaction_offset = {decoded["preparedTransactionOffset"].number()};
    options.record_crc = decoded.has("recordCrc");
    options.place = {.offset = {decoded["physicalOffset"].number()},
                     .queue_offset = {decoded["queueOffset"].number()},
                     .store_timestamp_ms = decoded["storeTimestamp"].number()};
  }

  std::string topic;
  std::vector<std::byte> body;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<Property> properties;
  Message message;
  test::EncodeOptions options;
};

TEST(GoldenRecordTest, EveryRecordIsEncodedByteForByte) {
  for (const auto& [_, vector] : vectors()["records"].children()) {
    const Described described(vector["decoded"]);
    const auto encoded = encode(described.message, described.options);
    ASSERT_TRUE(encoded.has_value()) << encoded.error().text();
    EXPECT_EQ(*encoded, read_golden_hex("vectors/" + vector["file"].text()))
        << vector["name"].text();
  }
}

TEST(GoldenRecordTest, EveryRecordIsDecodedIntoItsFields) {
  for (const auto& [_, vector] : vectors()["records"].children()) {
    const Described described(vector["decoded"]);
    const auto bytes = read_golden_hex("vectors/" + vector["file"].text());
    RecordCheck check = test::check_all();
    check.expected_offset = described.options.place.offset;

    const DecodedRecord decoded = decode_record(bytes, check);

    ASSERT_EQ(decoded.kind, RecordKind::kRecord) << decoded.fault;
    const MessageView& view = decoded.view;
    EXPECT_EQ(decoded.bytes, vector["size"].number());
    EXPECT_EQ(view.topic, described.topic);
    EXPECT_EQ(view.queue, described.message.queue);
    EXPECT_EQ(view.queue_offset, described.options.place.queue_offset);
    EXPECT_EQ(view.offset, described.options.place.offset);
    EXPECT_EQ(view.body_crc, vector["decoded"]["bodyCrc"].number());
    EXPECT_EQ(view.flag, described.message.flag);
    EXPECT_EQ(view.sys_flag, described.message.sys_flag);
    EXPECT_EQ(view.born_timestamp_ms, described.message.born_timestamp_ms);
    EXPECT_EQ(view.store_timestamp_ms, described.options.place.store_timestamp_ms);
    EXPECT_EQ(view.born_host, described.message.born_host);
    EXPECT_EQ(view.store_host, described.message.store_host);
    EXPECT_EQ(view.reconsume_times, described.message.reconsume_times);
    EXPECT_EQ(view.version, vector["decoded"]["magic"].text() == "DAA320A7" ? 1 : 2);
    EXPECT_EQ(test::text_of(view.body), test::text_of(described.body));
    EXPECT_EQ(has_record_crc(view.record), described.options.record_crc);
    EXPECT_EQ(record_crc_matches(view.record), described.options.record_crc);
    for (const Property& property : described.properties) {
      EXPECT_EQ(view.property(property.name), property.value) << property.name;
    }
  }
}

TEST(GoldenRecordTest, EveryRecordHasItsIdAndTagsCode) {
  for (const auto& [_, vector] : vectors()["records"].children()) {
    const Described described(vector["decoded"]);
    const MessageId id{.store_host = *described.message.store_host,
                       .offset = described.options.place.offset};
    EXPECT_EQ(id.text(), vector["offsetMsgId"].text());
    const MessageId parsed = MessageId::parse(vector["offsetMsgId"].text()).value();
    EXPECT_EQ(parsed.store_host, id.store_host);
    EXPECT_EQ(parsed.offset, id.offset);
    if (described.topic != "SCHEDULE_TOPIC_XXXX") {  // there the code is a time
      const auto bytes = read_golden_hex("vectors/" + vector["file"].text());
      EXPECT_EQ(tags_code(decode_record(bytes, {}).view.tags()), vector["tagsCode"].number());
    }
  }
}

TEST(GoldenRecordTest, AClientBatchBecomesItsStoredRecordsAndIsEncodedBack) {
  const auto& batch = vectors()["batch"];
  const auto body = read_golden_hex("vectors/" + batch["clientBody"].text());
  const Described basic(vectors()["records"].at(0)["decoded"]);
  test::EncodeOptions options = basic.options;
  options.place.offset = {batch["firstPhysicalOffset"].number()};
  options.place.queue_offset = {batch["firstQueueOffset"].number()};

  const auto messages = split_client_batch(body, basic.message);

  ASSERT_TRUE(messages.has_value()) << messages.error().text();
  ASSERT_EQ(messages->size(), static_cast<std::size_t>(batch["count"].number()));
  std::vector<std::byte> stored;
  for (const Message& message : *messages) {
    const auto record = encode(message, options).value();
    stored.insert(stored.end(), record.begin(), record.end());
    options.place.offset.value += static_cast<std::int64_t>(record.size());
    options.place.queue_offset.value += 1;
  }
  EXPECT_EQ(stored, read_golden_hex("vectors/" + batch["stored"].text()));
  EXPECT_EQ(encode_client_batch(*messages).value(), body);
}

TEST(GoldenRecordTest, AWholeLogFileIsTwoRecordsAndABlank) {
  const auto& file = vectors()["commitlog_1024"];
  const auto bytes = read_golden_hex("vectors/commitlog_1024.hex");
  std::size_t at = 0;
  for (const auto& [_, offset] : file["recordOffsets"].children()) {
    ASSERT_EQ(at, static_cast<std::size_t>(offset.number()));
    RecordCheck check = test::check_all();
    check.expected_offset = PhysicalOffset{static_cast<std::int64_t>(at)};
    const DecodedRecord decoded = decode_record(std::span(bytes).subspan(at), check);
    ASSERT_EQ(decoded.kind, RecordKind::kRecord) << decoded.fault;
    at += static_cast<std::size_t>(decoded.bytes);
  }
  ASSERT_EQ(at, static_cast<std::size_t>(file["blankAt"].number()));
  const DecodedRecord blank = decode_record(std::span(bytes).subspan(at), {});
  EXPECT_EQ(blank.kind, RecordKind::kBlank);
  EXPECT_EQ(blank.bytes, file["blankSize"].number());
  const auto encoded = encode_blank(blank.bytes);
  EXPECT_TRUE(std::ranges::equal(encoded, std::span(bytes).subspan(at, 8)));
}

TEST(GoldenRecordTest, HashesAndChecksumsAreThoseOfTheVectors) {
  for (const auto& [name, value] : vectors()["stringHashes"].children()) {
    EXPECT_EQ(java_string_hash(name), value["hashCode"].number());
  }
  for (const auto& [name, value] : vectors()["crc31"].children()) {
    EXPECT_EQ(crc31(test::bytes_of(name)), value.number());
  }
}

}  // namespace
}  // namespace kerolox::storage
