// Records in both directions: limits, hostile bytes, checksums.
#include "kerolox/storage/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kerolox/base/endian.h"
#include "kerolox/storage/client_batch.h"
#include "kerolox/storage/properties.h"
#include "storage/codec_support.h"

namespace kerolox::storage {
namespace {

using namespace std::string_literals;
using test::bytes_of;
using test::check_all;
using test::encode;
using test::text_of;

Message paid() {
  return {.topic = "orders", .queue = {3}, .tags = "paid", .keys = "k1 k2", .body = bytes_of("42")};
}

Host host_v6() { return Host::parse("[2001:db8::1]:10911").value(); }

ErrorCode refusal(const Message& message, const test::EncodeOptions& options = {}) {
  const auto encoded = encode(message, options);
  return encoded.has_value() ? ErrorCode::kShutdown : encoded.error().code();
}

bool is_refused(const Message& message, const test::EncodeOptions& options = {}) {
  return refusal(message, options) == ErrorCode::kInvalidArgument;
}

DecodedRecord decoded(std::span<const std::byte> record, const RecordCheck& check = check_all()) {
  return decode_record(record, check);
}

// Encoded properties of exactly `bytes` bytes.
std::string properties_of_size(std::size_t bytes) {
  return "n\x01" + std::string(bytes - 3, 'v') + "\x02";
}

TEST(RecordTopicTest, OrdinaryTopicsHave127BytesAtMost) {
  Message message = paid();
  const std::string longest(127, 't');
  message.topic = longest;
  EXPECT_EQ(decoded(encode(message).value()).view.version, 1);
  const std::string longer(128, 't');
  message.topic = longer;
  EXPECT_TRUE(is_refused(message));
}

TEST(RecordTopicTest, RetryAndDeadLetterTopicsHave255BytesAtMostAndUseVersion2Above127) {
  for (const std::string prefix : {"%RETRY%", "%DLQ%"}) {
    for (const auto& [bytes, version] : {std::pair<std::size_t, int>{127, 1}, {128, 2}, {255, 2}}) {
      Message message = paid();
      const std::string topic = prefix + std::string(bytes - prefix.size(), 'g');
      message.topic = topic;
      const auto record = encode(message).value();
      const DecodedRecord back = decoded(record);
      ASSERT_EQ(back.kind, RecordKind::kRecord) << back.fault;
      EXPECT_EQ(back.view.version, version) << bytes;
      EXPECT_EQ(back.view.topic, topic);
    }
    Message message = paid();
    const std::string topic = prefix + std::string(256 - prefix.size(), 'g');
    message.topic = topic;
    EXPECT_TRUE(is_refused(message));
  }
}

TEST(RecordTopicTest, AnyTopicMayHave255BytesWhereLongTopicsAreAllowed) {
  const test::EncodeOptions options{.limits = {.allow_long_topics = true}};
  Message message = paid();
  const std::string longest(255, 't');
  message.topic = longest;
  EXPECT_EQ(decoded(encode(message, options).value()).view.version, 2);
  const std::string longer(256, 't');
  message.topic = longer;
  EXPECT_TRUE(is_refused(message, options));
}

TEST(RecordTopicTest, EmptyTopicsAndForeignCharactersAreRefused) {
  for (const std::string& topic : {""s, "a/b"s, "a\\b"s, "a.b"s, ".."s, "a b"s, "a\0b"s, "a\x01"s,
                                   "a\x02"s, "\xC3\xA9"s, "a\n"s, "a:b"s}) {
    Message message = paid();
    message.topic = topic;
    EXPECT_TRUE(is_refused(message)) << topic;
  }
  Message message = paid();
  message.topic = "%RETRY%a_B-9|z";
  EXPECT_TRUE(encode(message).has_value());
}

TEST(RecordLimitsTest, TheBodyMayReachItsLimitAndNotPassIt) {
  const test::EncodeOptions options{.limits = {.body_bytes_max = 100}};
  const std::string body(101, 'b');
  Message message = paid();
  message.body = bytes_of(body).first(100);
  EXPECT_TRUE(encode(message, options).has_value());
  message.body = bytes_of(body);
  EXPECT_TRUE(is_refused(message, options));
}

TEST(RecordLimitsTest, AnEmptyBodyHasChecksum0) {
  Message message = paid();
  message.body = {};
  const auto record = encode(message).value();
  EXPECT_EQ(decoded(record).kind, RecordKind::kRecord);
  EXPECT_EQ(decoded(record).view.body_crc, 0U);
}

TEST(RecordLimitsTest, NegativeQueuesAndUnknownCompressionsAreRefused) {
  Message message = paid();
  message.queue = {-1};
  EXPECT_TRUE(is_refused(message));
  message = paid();
  message.sys_flag = 0x400;
  EXPECT_TRUE(is_refused(message));
  message.sys_flag = sys_flag::kCompressed | sys_flag::kCompressionZlib;
  EXPECT_TRUE(encode(message).has_value());
}

TEST(RecordPropertiesTest, PropertiesMayReach32767BytesAndNotPassThem) {
  Message message{.topic = "orders"};
  const std::string longest = properties_of_size(32767);
  message.encoded_properties = longest;
  EXPECT_EQ(decoded(encode(message).value()).view.properties, longest);
  const std::string longer = properties_of_size(32768);
  message.encoded_properties = longer;
  EXPECT_TRUE(is_refused(message));

  message.encoded_properties = {};
  const std::string value(32764, 'v');
  message.properties = {};
  const std::vector<Property> longest_property{{"n", value}};
  message.properties = longest_property;
  EXPECT_TRUE(encode(message).has_value());
  const std::vector<Property> longer_property{{"nn", value}};
  message.properties = longer_property;
  EXPECT_TRUE(is_refused(message));
}

TEST(RecordPropertiesTest, MalformedPropertiesAreRefused) {
  const std::vector<Property> malformed[] = {
      {{"", "v"}}, {{"n", ""}}, {{"n\x01", "v"}}, {{"n\x02", "v"}}, {{"n", "v\x02"}}};
  for (const auto& properties : malformed) {
    Message message = paid();
    message.properties = properties;
    EXPECT_TRUE(is_refused(message));
  }
  Message message = paid();
  message.tags = "a\x02";
  EXPECT_TRUE(is_refused(message));
  message = paid();
  message.keys = "\x02";
  EXPECT_TRUE(is_refused(message));
}

TEST(RecordPropertiesTest, EncodedPropertiesStandAlone) {
  Message message = paid();
  message.encoded_properties = "a\x01v\x02";
  EXPECT_TRUE(is_refused(message));
  message.tags = {};
  EXPECT_TRUE(is_refused(message));
  message.keys = {};
  EXPECT_TRUE(encode(message).has_value());
}

TEST(RecordPropertiesTest, TagsAndKeysAreNotGivenTwice) {
  Message message = paid();
  const std::vector<Property> again{{"TAGS", "other"}};
  message.properties = again;
  EXPECT_TRUE(is_refused(message));
  message.tags = {};
  EXPECT_EQ(decoded(encode(message).value()).view.tags(), "other");
}

TEST(RecordPropertiesTest, WithoutARecordChecksumEncodedPropertiesAreStoredVerbatim) {
  for (const std::string& text : {""s, "a\x01v"s, "a\x01v\x02"s, "\x02\x02x"s, "no item at all"s}) {
    const Message message{.topic = "orders", .encoded_properties = text};
    EXPECT_EQ(decoded(encode(message).value()).view.properties, text);
  }
}

TEST(RecordPropertiesTest, AnIncomingRecordChecksumIsRemoved) {
  const std::string crc = "__CRC32#\x01" + "1234567890\x02"s;
  const std::string ended = "a\x01v\x02"s;
  for (const std::string& text :
       {crc + ended, ended + crc, ended + "__CRC32#\x01" + "12"s, crc + ended + crc + crc}) {
    const Message message{.topic = "orders", .encoded_properties = text};
    EXPECT_EQ(decoded(encode(message).value()).view.properties, ended);
  }
  const std::vector<Property> properties{{"__CRC32#", "1234567890"}, {"a", "v"}};
  const Message message{.topic = "orders", .properties = properties};
  EXPECT_EQ(decoded(encode(message).value()).view.properties, ended);

  const std::string similar = "__CRC32##\x01v\x02x__CRC32#\x01v\x02";
  const Message other{.topic = "orders", .encoded_properties = similar};
  EXPECT_EQ(decoded(encode(other).value()).view.properties, similar);
}

TEST(RecordPropertiesTest, WaitIsFalseOnlyWhereThePropertySaysSo) {
  RecordEncoder encoder;
  const auto waits = [&](std::string_view properties) {
    const Message message{.topic = "orders", .encoded_properties = properties};
    EXPECT_TRUE(encoder.prepare(message, loopback_host(), false, {}).has_value());
    return encoder.waits();
  };
  EXPECT_TRUE(waits(""));
  EXPECT_FALSE(
      waits("WAIT\x01"
            "false\x02"));
  EXPECT_TRUE(waits("WAIT\x01true\x02"));
  EXPECT_FALSE(
      waits("A\x01v\x02WAIT\x01"
            "false"));
  EXPECT_TRUE(
      waits("XWAIT\x01"
            "false\x02"));
}

TEST(RecordEncoderTest, PreparedAndRollbackRecordsTakeNoPlaceInTheirQueue) {
  for (const auto& [type, takes] : {std::pair{0, true},
                                    {sys_flag::kTransactionPrepared, false},
                                    {sys_flag::kTransactionCommit, true},
                                    {sys_flag::kTransactionRollback, false}}) {
    Message message = paid();
    message.sys_flag = type;
    RecordEncoder encoder;
    ASSERT_TRUE(encoder.prepare(message, loopback_host(), true, {}).has_value());
    EXPECT_EQ(encoder.takes_queue_offset(), takes);
    const auto record = test::joined(encoder.finish({.queue_offset = {9}}));
    EXPECT_EQ(decoded(record).view.queue_offset.value, takes ? 9 : 0);
  }
}

TEST(RecordEncoderTest, WhatTheMessageLeavesOutComesFromTheLog) {
  const auto record = encode(paid(), {.host = host_v6()}).value();
  const MessageView view = decoded(record).view;
  EXPECT_EQ(view.born_host, host_v6());
  EXPECT_EQ(view.store_host, host_v6());
  EXPECT_EQ(view.sys_flag, sys_flag::kBornHostV6 | sys_flag::kStoreHostV6);
  EXPECT_EQ(view.born_timestamp_ms, view.store_timestamp_ms);
}

TEST(RecordEncoderTest, TheAddressBitsOfTheCallerAreIgnored) {
  Message message = paid();
  message.sys_flag = sys_flag::kBornHostV6 | sys_flag::kStoreHostV6 | sys_flag::kMultiTags;
  EXPECT_EQ(decoded(encode(message).value()).view.sys_flag, sys_flag::kMultiTags);
  message.born_host = host_v6();
  EXPECT_EQ(decoded(encode(message).value()).view.sys_flag,
            sys_flag::kMultiTags | sys_flag::kBornHostV6);
}

TEST(RecordEncoderTest, ARefusedMessageLeavesTheEncoderReadyForTheNext) {
  RecordEncoder encoder;
  Message message = paid();
  message.topic = "";
  EXPECT_FALSE(encoder.prepare(message, loopback_host(), true, {}).has_value());
  EXPECT_EQ(encoder.record_bytes(), 0);
  ASSERT_TRUE(encoder.prepare(paid(), loopback_host(), true, {}).has_value());
  const auto record = test::joined(encoder.finish({}));
  EXPECT_EQ(record.size(), static_cast<std::size_t>(encoder.record_bytes()));
  EXPECT_EQ(decoded(record).view.keys(), "k1 k2");
}

TEST(RecordEncoderTest, TheBodyIsLentOutNotCopied) {
  RecordEncoder encoder;
  const Message message = paid();
  ASSERT_TRUE(encoder.prepare(message, loopback_host(), true, {}).has_value());
  EXPECT_EQ(encoder.finish({})[1].data(), message.body.data());
}

// --- the record's checksum

std::vector<std::byte> checked_record(const Message& message) {
  return encode(message, {.record_crc = true}).value();
}

TEST(RecordChecksumTest, W1ASingleFlippedBitAnywhereIsDetected) {
  Message v6 = paid();
  v6.store_host = host_v6();
  Message retry = paid();
  const std::string topic = "%RETRY%" + std::string(150, 'g');
  retry.topic = topic;
  const Message bare{.topic = "t"};
  for (const Message& message : {paid(), v6, retry, bare}) {
    std::vector<std::byte> record = checked_record(message);
    ASSERT_EQ(decoded(record).kind, RecordKind::kRecord);
    const std::size_t size = record.size();
    record.resize(size + 4096);  // a log goes on behind its last record
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      record[bit / 8] ^= std::byte{1} << (bit % 8);
      ASSERT_NE(decoded(record).kind, RecordKind::kRecord) << "bit " << bit << " of " << size * 8;
      record[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
}

TEST(RecordChecksumTest, W18TheChecksumIsAPropertyOfItsOwnWhenTheFinalSeparatorIsMissing) {
  const Message message{.topic = "orders", .encoded_properties = "TAGS\x01paid"};
  const auto record = checked_record(message);
  const MessageView view = decoded(record).view;
  EXPECT_EQ(view.tags(), "paid");
  EXPECT_EQ(view.properties.substr(0, 10), "TAGS\x01paid\x02");
  EXPECT_EQ(view.properties.size(), 10 + kRecordCrcBytes);
  EXPECT_TRUE(record_crc_matches(record));
}

TEST(RecordChecksumTest, W18TheChecksumOfABatchItemIsAPropertyOfItsOwn) {
  const std::vector<Message> items{{.body = bytes_of("1"), .encoded_properties = "TAGS\x01paid"},
                                   {.body = bytes_of("2"), .encoded_properties = ""}};
  const auto batch = encode_client_batch(items).value();
  const auto split = split_client_batch(batch, {.topic = "orders"}).value();
  for (std::size_t index = 0; index < split.size(); ++index) {
    const auto record = checked_record(split[index]);
    EXPECT_TRUE(record_crc_matches(record));
    EXPECT_EQ(decoded(record).view.tags(), index == 0 ? "paid" : "");
  }
}

TEST(RecordChecksumTest, W18TheChecksumIsLeftOutWhereThePropertiesLeaveNoRoom) {
  for (const bool ended : {true, false}) {
    // A missing separator needs room too.
    const std::size_t fits = kPropertiesBytesMax - kRecordCrcBytes - (ended ? 0 : 1);
    for (const std::size_t bytes : {fits, fits + 1}) {
      std::string text = properties_of_size(bytes + (ended ? 0 : 1));
      text.resize(bytes);
      const Message message{.topic = "orders", .encoded_properties = text};
      const auto record = checked_record(message);
      const DecodedRecord back = decoded(record);
      ASSERT_EQ(back.kind, RecordKind::kRecord) << back.fault;
      EXPECT_EQ(has_record_crc(record), bytes == fits);
      EXPECT_EQ(back.view.properties.size(), bytes == fits ? kPropertiesBytesMax : bytes);
    }
  }
}

TEST(RecordChecksumTest, DigitsStandLeastSignificantFirst) {
  const auto record = checked_record(paid());
  std::string digits(text_of(std::span(record).last(11).first(10)));
  std::ranges::reverse(digits);
  EXPECT_EQ(std::stoul(digits), crc31(std::span(record).first(record.size() - 20)));
}

TEST(RecordChecksumTest, AStaleChecksumIsAcceptedUnlessAskedFor) {
  auto record = checked_record(paid());
  record[16] ^= std::byte{1};  // the flag, which no other checksum covers
  EXPECT_TRUE(has_record_crc(record));
  EXPECT_FALSE(record_crc_matches(record));
  EXPECT_EQ(decoded(record, {.record_crc = false}).kind, RecordKind::kRecord);
  EXPECT_EQ(decoded(record, {.record_crc = true}).kind, RecordKind::kInvalid);
}

TEST(RecordChecksumTest, APropertyThatOnlyLooksAlikeIsNoChecksum) {
  const Message message{.topic = "orders",
                        .encoded_properties =
                            "__CRC32!\x01"
                            "1234567890\x02"};
  const auto record = encode(message).value();
  EXPECT_FALSE(has_record_crc(record));
  EXPECT_EQ(decoded(record).kind, RecordKind::kRecord);
}

// --- hostile bytes

TEST(RecordDecoderTest, TheOffsetIsComparedWithThePlaceIfOneIsExpected) {
  const auto record = encode(paid()).value();
  RecordCheck check;
  check.expected_offset = PhysicalOffset{4096};
  EXPECT_EQ(decoded(record, check).kind, RecordKind::kRecord);
  check.expected_offset = PhysicalOffset{4097};
  EXPECT_EQ(decoded(record, check).kind, RecordKind::kInvalid);
}

TEST(RecordDecoderTest, ABodyThatDiffersIsInvalidUnlessItsChecksumIsNotWanted) {
  auto record = encode(paid()).value();
  record[88] ^= std::byte{1};
  EXPECT_EQ(decoded(record, {.body_crc = true}).kind, RecordKind::kInvalid);
  EXPECT_EQ(decoded(record, {.body_crc = false}).kind, RecordKind::kRecord);
}

TEST(RecordDecoderTest, EveryKindOfPlaceIsToldApart) {
  std::vector<std::byte> bytes(64);
  EXPECT_EQ(decoded(bytes).kind, RecordKind::kZero);
  EXPECT_EQ(decoded(std::span(bytes).first(7)).kind, RecordKind::kInvalid);
  EXPECT_EQ(decoded({}).kind, RecordKind::kInvalid);

  std::ranges::copy(encode_blank(1000), bytes.begin());
  EXPECT_EQ(decoded(bytes).kind, RecordKind::kBlank);
  EXPECT_EQ(decoded(bytes).bytes, 1000);
  for (const std::int32_t size : {-1, 0, 7, std::numeric_limits<std::int32_t>::min()}) {
    store_big_endian(bytes.data(), size);
    EXPECT_EQ(decoded(bytes).kind, RecordKind::kInvalid) << size;
  }

  bytes.assign(64, std::byte{0xFF});
  EXPECT_EQ(decoded(bytes).kind, RecordKind::kInvalid);
}

TEST(RecordDecoderTest, W11ASizeBeyondTheBytesAtHandIsIncompleteAndOneBelowTheMinimumInvalid) {
  for (const bool v2 : {false, true}) {
    std::vector<std::byte> head(8);
    store_big_endian(head.data() + 4, v2 ? kMagicV2 : kMagicV1);
    const std::int32_t smallest = v2 ? 92 : 91;
    for (const std::int32_t size : {smallest, smallest + 1, std::numeric_limits<int>::max()}) {
      store_big_endian(head.data(), size);
      EXPECT_EQ(decoded(head).kind, RecordKind::kIncomplete);
      EXPECT_EQ(decoded(head).bytes, size);
    }
    for (const std::int32_t size : {smallest - 1, 8, 1, 0, -1, std::numeric_limits<int>::min()}) {
      store_big_endian(head.data(), size);
      EXPECT_EQ(decoded(head).kind, RecordKind::kInvalid) << size;
    }
  }
}

TEST(RecordDecoderTest, EveryPrefixOfARecordIsIncompleteOnceItHasAHead) {
  const auto record = checked_record(paid());
  for (std::size_t bytes = 0; bytes < record.size(); ++bytes) {
    // On the heap, so that a sanitizer sees a read outside.
    const std::vector<std::byte> prefix(record.begin(),
                                        record.begin() + static_cast<std::ptrdiff_t>(bytes));
    const DecodedRecord back = decoded(prefix);
    EXPECT_EQ(back.kind, bytes < 8 ? RecordKind::kInvalid : RecordKind::kIncomplete);
    EXPECT_EQ(back.bytes, bytes < 8 ? 0 : static_cast<std::int64_t>(record.size()));
  }
}

// Places of the length fields in a record of paid() with IPv4 hosts.
struct LengthField {
  std::size_t at;
  std::size_t bytes;
};

TEST(RecordDecoderTest, W11NoLengthFieldIsBelievedWhenItDoesNotFit) {
  const auto record = encode(paid()).value();
  const LengthField fields[] = {
      {0, 4}, {84, 4}, {90, 1}, {97, 2}};  // size, body, topic, properties
  for (const auto& [at, bytes] : fields) {
    std::int64_t stored = 0;
    for (std::size_t index = 0; index < bytes; ++index) {
      stored = stored << 8 | std::to_integer<std::int64_t>(record[at + index]);
    }
    const std::int64_t max = (std::int64_t{1} << (bytes * 8 - 1)) - 1;
    for (const std::int64_t hostile :
         {std::int64_t{-1}, std::int64_t{0}, max, -max - 1, stored - 1, stored + 1}) {
      auto damaged = record;
      for (std::size_t index = 0; index < bytes; ++index) {
        damaged[at + index] = static_cast<std::byte>(hostile >> (8 * (bytes - 1 - index)));
      }
      EXPECT_NE(decode_record(damaged, {.body_crc = false}).kind, RecordKind::kRecord)
          << "field at " << at << " set to " << hostile;
    }
  }
}

TEST(RecordDecoderTest, W11NegativeTopicLengthsOfVersion2AreNotBelieved) {
  Message message = paid();
  const std::string topic = "%RETRY%" + std::string(150, 'g');
  message.topic = topic;
  auto record = encode(message).value();
  store_big_endian(record.data() + 90, std::int16_t{-1});
  EXPECT_EQ(decoded(record).kind, RecordKind::kInvalid);
  store_big_endian(record.data() + 90, std::numeric_limits<std::int16_t>::max());
  EXPECT_EQ(decoded(record).kind, RecordKind::kInvalid);
}

TEST(RecordDecoderTest, ARecordWithoutTopicIsAcceptedAsJavaAcceptsIt) {
  std::vector<std::byte> record(91);
  store_big_endian(record.data(), std::int32_t{91});
  store_big_endian(record.data() + 4, kMagicV1);
  EXPECT_EQ(decoded(record).kind, RecordKind::kRecord);
  EXPECT_TRUE(decoded(record).view.topic.empty());
}

TEST(RecordDecoderTest, TheHeadAloneSaysSizeAndVersion) {
  const auto record = encode(paid()).value();
  const DecodedRecord head = decode_head(record);
  EXPECT_EQ(head.kind, RecordKind::kRecord);
  EXPECT_EQ(head.bytes, static_cast<std::int64_t>(record.size()));
  EXPECT_EQ(decode_head(std::span(record).first(8)).kind, RecordKind::kIncomplete);
}

// --- random messages

class RandomMessage {
 public:
  explicit RandomMessage(std::mt19937& random) : random_(random) {
    topic_ = pick(4) == 0 ? "%RETRY%" + text(pick(248) + 1) : text(pick(127) + 1);
    body_ = text(pick(3) == 0 ? pick(5000) : pick(100));
    for (std::size_t count = pick(6); count > 0; --count) {
      texts_.push_back({"p" + std::to_string(count) + text(pick(5)), text(pick(50) + 1)});
    }
    for (const auto& [name, value] : texts_) {
      properties_.push_back({name, value});
    }
    message_.topic = topic_;
    message_.queue = {static_cast<std::int32_t>(random_() >> 1)};
    message_.body = bytes_of(body_);
    message_.properties = properties_;
    message_.flag = static_cast<std::int32_t>(random_());
    message_.sys_flag = static_cast<std::int32_t>(random_() & 0x3CF);
    message_.born_timestamp_ms = static_cast<std::int64_t>(random_()) + 1;
    message_.born_host = host();
    message_.store_host = host();
    message_.reconsume_times = static_cast<std::int32_t>(random_());
    message_.prepared_transaction_offset = {static_cast<std::int64_t>(random_())};
  }

  const Message& message() const { return message_; }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  std::string text(std::size_t bytes) {
    std::string text(bytes, ' ');
    std::ranges::generate(text, [&] { return "abcXYZ019_-|%"[pick(13)]; });
    return text;
  }
  Host host() {
    Host host{.v6 = pick(2) == 0, .port = static_cast<std::int32_t>(random_())};
    for (std::size_t index = 0; index < (host.v6 ? 16 : 4); ++index) {
      host.address[index] = static_cast<std::byte>(pick(256));
    }
    return host;
  }

  std::mt19937& random_;
  std::string topic_;
  std::string body_;
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<Property> properties_;
  Message message_;
};

void expect_same(const MessageView& view, const Message& message) {
  EXPECT_EQ(view.topic, message.topic);
  EXPECT_EQ(view.queue, message.queue);
  EXPECT_EQ(text_of(view.body), text_of(message.body));
  EXPECT_EQ(view.flag, message.flag);
  EXPECT_EQ(view.sys_flag & ~(sys_flag::kBornHostV6 | sys_flag::kStoreHostV6), message.sys_flag);
  EXPECT_EQ(view.born_timestamp_ms, message.born_timestamp_ms);
  EXPECT_EQ(view.born_host, message.born_host);
  EXPECT_EQ(view.store_host, message.store_host);
  EXPECT_EQ(view.reconsume_times, message.reconsume_times);
  EXPECT_EQ(view.prepared_transaction_offset, message.prepared_transaction_offset);
  for (const Property& property : message.properties) {
    EXPECT_EQ(view.property(property.name), property.value);
  }
}

TEST(RecordModelTest, RandomMessagesComeBackAsTheyWere) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  RecordEncoder encoder;
  for (int round = 0; round < 2000; ++round) {
    const RandomMessage made(random);
    const bool record_crc = random() % 2 == 0;
    const RecordPlace place{.offset = {static_cast<std::int64_t>(random())},
                            .queue_offset = {static_cast<std::int64_t>(random())},
                            .store_timestamp_ms = static_cast<std::int64_t>(random())};
    ASSERT_TRUE(encoder.prepare(made.message(), loopback_host(), record_crc, {}).has_value());
    const auto record = test::joined(encoder.finish(place));
    RecordCheck check = check_all();
    check.expected_offset = place.offset;

    const DecodedRecord back = decoded(record, check);

    ASSERT_EQ(back.kind, RecordKind::kRecord) << back.fault;
    EXPECT_EQ(back.bytes, encoder.record_bytes());
    EXPECT_EQ(back.view.store_timestamp_ms, place.store_timestamp_ms);
    EXPECT_EQ(has_record_crc(record), record_crc);
    expect_same(back.view, made.message());
  }
}

}  // namespace
}  // namespace kerolox::storage
