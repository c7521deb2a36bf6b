#include "kerolox/storage/message_id.h"

#include <gtest/gtest.h>

#include <string>

namespace kerolox::storage {
namespace {

using namespace std::string_literals;

std::string round_trip(std::string_view text) {
  const auto host = Host::parse(text);
  return host ? host->text() : host.error().text();
}

TEST(HostTest, AddressesOfBothKindsAreParsedAndPrinted) {
  EXPECT_EQ(round_trip("1.2.3.4:10911"), "1.2.3.4:10911");
  EXPECT_EQ(round_trip("255.255.255.255:65535"), "255.255.255.255:65535");
  EXPECT_EQ(round_trip("0.0.0.0:0"), "0.0.0.0:0");
  EXPECT_EQ(round_trip("[2001:db8::1]:10911"), "[2001:db8:0:0:0:0:0:1]:10911");
  EXPECT_EQ(round_trip("[2001:db8:0:0:0:0:0:1]:10911"), "[2001:db8:0:0:0:0:0:1]:10911");
  EXPECT_EQ(round_trip("[::]:1"), "[0:0:0:0:0:0:0:0]:1");
  EXPECT_EQ(round_trip("[FE80::ABCD]:1"), "[fe80:0:0:0:0:0:0:abcd]:1");
  EXPECT_EQ(loopback_host().text(), "127.0.0.1:0");
}

TEST(HostTest, AnythingElseIsRefused) {
  for (const std::string& text : {""s,
                                  ":"s,
                                  ":1"s,
                                  "1.2.3.4"s,
                                  "1.2.3.4:"s,
                                  "1.2.3:1"s,
                                  "1.2.3.256:1"s,
                                  "1.2.3.4:65536"s,
                                  "1.2.3.4:-1"s,
                                  "1.2.3.4:+1"s,
                                  "1.2.3.4:1x"s,
                                  "1.2.3.4:99999999999"s,
                                  "1.2.3.4\0:1"s,
                                  "host:1"s,
                                  "2001:db8::1:1"s,
                                  "[2001:db8::1]"s,
                                  "[1.2.3.4]:1"s,
                                  "[]:1"s,
                                  "[:1"s,
                                  "[2001:db8::g]:1"s,
                                  "[::1%eth0]:1"s,
                                  " 1.2.3.4:1"s}) {
    const auto host = Host::parse(text);
    ASSERT_FALSE(host.has_value()) << text;
    EXPECT_EQ(host.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_FALSE(host.error().remedy().empty());
  }
}

TEST(MessageIdTest, AnIdIsTheStoreHostAndTheOffsetInUpperCaseHex) {
  const MessageId id{.store_host = Host::parse("192.0.2.1:10911").value(), .offset = {216}};
  EXPECT_EQ(id.text(), "C000020100002A9F00000000000000D8");
  const MessageId v6{.store_host = Host::parse("[2001:db8::1]:10911").value(),
                     .offset = {1073741824}};
  EXPECT_EQ(v6.text(), "20010DB800000000000000000000000100002A9F0000000040000000");
}

TEST(MessageIdTest, IdsOfBothLengthsComeBack) {
  for (const std::string host : {"192.0.2.1:10911", "[2001:db8::1]:10911"}) {
    const MessageId id{.store_host = Host::parse(host).value(), .offset = {0x123456789ABCDEF}};
    const MessageId back = MessageId::parse(id.text()).value();
    EXPECT_EQ(back.store_host, id.store_host);
    EXPECT_EQ(back.offset, id.offset);
  }
  EXPECT_EQ(MessageId::parse("c000020100002a9f00000000000000d8").value().offset.value, 216);
}

TEST(MessageIdTest, AnErrorNamesTheLengthOrTheCharacter) {
  const auto too_short = MessageId::parse("C0");
  ASSERT_FALSE(too_short.has_value());
  EXPECT_EQ(too_short.error().text(), "a message id has 32 or 56 characters (characters=2)");
  EXPECT_FALSE(MessageId::parse("").has_value());
  EXPECT_FALSE(MessageId::parse(std::string(33, '0')).has_value());
  for (const char wrong : {'G', 'g', '/', ':', '@', '`', '\0', ' ', '\x11'}) {
    std::string text(32, '0');
    text[31] = wrong;
    const auto parsed = MessageId::parse(text);
    ASSERT_FALSE(parsed.has_value()) << static_cast<int>(wrong);
    EXPECT_EQ(parsed.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(parsed.error().numbers()[0].value, 31);
  }
}

}  // namespace
}  // namespace kerolox::storage
