#include "kerolox/storage/client_batch.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kerolox/base/endian.h"
#include "storage/codec_support.h"

namespace kerolox::storage {
namespace {

using test::bytes_of;
using test::text_of;

Message shared() {
  return {
      .topic = "orders", .queue = {3}, .born_timestamp_ms = 1700000000000, .reconsume_times = 2};
}

// Two items: "one" with a tag, and "second" without properties.
std::vector<std::byte> two_items() {
  const std::vector<Message> items{{.tags = "paid", .body = bytes_of("one"), .flag = 5},
                                   {.body = bytes_of("second"), .flag = -1}};
  return encode_client_batch(items).value();
}
constexpr std::size_t kFirstItemBytes = 22 + 3 + 10;  // body, and TAGS 0x01 paid 0x02

ErrorCode refusal(const std::vector<std::byte>& batch, const Message& from = shared()) {
  const auto split = split_client_batch(batch, from);
  return split.has_value() ? ErrorCode::kShutdown : split.error().code();
}

TEST(ClientBatchTest, ItemsBringFlagBodyAndPropertiesAndShareTheRest) {
  Message from = shared();
  from.tags = "not used";
  from.keys = "not used";
  from.flag = 77;
  const auto batch = two_items();

  const auto messages = split_client_batch(batch, from).value();

  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(text_of(messages[0].body), "one");
  EXPECT_EQ(messages[0].encoded_properties, "TAGS\x01paid\x02");
  EXPECT_EQ(messages[0].flag, 5);
  EXPECT_EQ(text_of(messages[1].body), "second");
  EXPECT_EQ(messages[1].encoded_properties, "");
  EXPECT_EQ(messages[1].flag, -1);
  for (const Message& message : messages) {
    EXPECT_EQ(message.topic, "orders");
    EXPECT_EQ(message.queue.value, 3);
    EXPECT_EQ(message.born_timestamp_ms, 1700000000000);
    EXPECT_EQ(message.reconsume_times, 2);
    EXPECT_TRUE(test::encode(message).has_value());
  }
}

TEST(ClientBatchTest, PropertiesAreTakenVerbatim) {
  const std::vector<Message> items{{.body = bytes_of("b"), .encoded_properties = "\x02 odd"}};
  const auto batch = encode_client_batch(items).value();
  EXPECT_EQ(split_client_batch(batch, shared()).value()[0].encoded_properties, "\x02 odd");
}

TEST(ClientBatchTest, AnEmptyBatchIsRefused) {
  EXPECT_EQ(refusal({}), ErrorCode::kInvalidArgument);
  EXPECT_EQ(encode_client_batch({}).error().code(), ErrorCode::kInvalidArgument);
}

TEST(ClientBatchTest, TransactionsDelaysAndRetryTopicsAreRefused) {
  const auto batch = two_items();
  Message from = shared();
  from.sys_flag = sys_flag::kTransactionPrepared;
  EXPECT_EQ(refusal(batch, from), ErrorCode::kInvalidArgument);
  from = shared();
  from.encoded_properties =
      "DELAY\x01"
      "3\x02";
  EXPECT_EQ(refusal(batch, from), ErrorCode::kInvalidArgument);
  from = shared();
  const std::vector<Property> delay{{"DELAY", "3"}};
  from.properties = delay;
  EXPECT_EQ(refusal(batch, from), ErrorCode::kInvalidArgument);
  from = shared();
  from.topic = "%RETRY%group";
  EXPECT_EQ(refusal(batch, from), ErrorCode::kInvalidArgument);
}

TEST(ClientBatchTest, EveryTruncationIsRefusedExceptBetweenItems) {
  const auto batch = two_items();
  for (std::size_t bytes = 0; bytes < batch.size(); ++bytes) {
    const std::vector<std::byte> cut(batch.begin(),
                                     batch.begin() + static_cast<std::ptrdiff_t>(bytes));
    EXPECT_EQ(split_client_batch(cut, shared()).has_value(), bytes == kFirstItemBytes) << bytes;
  }
}

TEST(ClientBatchTest, W11NoLengthIsBelievedAndTheErrorNamesItemAndByte) {
  struct Field {
    std::size_t at;
    std::size_t bytes;
  };
  const auto batch = two_items();
  // Size, body length and properties length of the second item.
  const Field fields[] = {{0, 4}, {16, 4}, {26, 2}};
  for (const auto& [field_at, bytes] : fields) {
    const std::size_t at = kFirstItemBytes + field_at;
    const std::int64_t max = (std::int64_t{1} << (bytes * 8 - 1)) - 1;
    const std::int64_t stored = std::to_integer<std::int64_t>(batch[at + bytes - 1]);
    for (const std::int64_t hostile : {std::int64_t{-1}, max, -max - 1, stored - 1, stored + 1}) {
      auto damaged = batch;
      for (std::size_t index = 0; index < bytes; ++index) {
        damaged[at + index] = static_cast<std::byte>(hostile >> (8 * (bytes - 1 - index)));
      }
      const auto split = split_client_batch(damaged, shared());
      ASSERT_FALSE(split.has_value()) << "field at " << field_at << " set to " << hostile;
      EXPECT_EQ(split.error().code(), ErrorCode::kInvalidArgument);
      EXPECT_EQ(split.error().numbers()[0].name, "item");
      EXPECT_EQ(split.error().numbers()[0].value, 1);
      EXPECT_EQ(split.error().numbers()[1].name, "byte");
      EXPECT_GE(split.error().numbers()[1].value, static_cast<std::int64_t>(kFirstItemBytes));
    }
  }
}

TEST(ClientBatchTest, MalformedOrTooLongPropertiesAreNotEncoded) {
  const std::vector<Property> malformed{{"n", ""}};
  const std::vector<Message> items{{.body = bytes_of("b"), .properties = malformed}};
  EXPECT_EQ(encode_client_batch(items).error().code(), ErrorCode::kInvalidArgument);
  const std::string text(32768, 'x');
  const std::vector<Message> longer{{.body = bytes_of("b"), .encoded_properties = text}};
  EXPECT_EQ(encode_client_batch(longer).error().code(), ErrorCode::kInvalidArgument);
  const std::vector<Message> fits{
      {.body = bytes_of("b"), .encoded_properties = std::string_view(text).substr(1)}};
  EXPECT_TRUE(encode_client_batch(fits).has_value());
}

}  // namespace
}  // namespace kerolox::storage
