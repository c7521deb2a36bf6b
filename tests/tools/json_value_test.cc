#include "tools/json_value.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace kerolox::tools {
namespace {

TEST(JsonValueTest, ReadsEveryKindOfValue) {
  const Result<JsonValue> value = JsonValue::parse(
      R"({"s":"a\u00e9\n","i":-9223372036854775808,"r":1.5,"t":true,"n":null,"a":[1,[2]],"o":{}})");
  ASSERT_TRUE(value);
  EXPECT_EQ((*value)["s"].text(), "aé\n");
  EXPECT_EQ((*value)["i"].integer(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ((*value)["r"].real(), 1.5);
  EXPECT_TRUE((*value)["t"].boolean());
  EXPECT_EQ((*value)["n"].kind(), JsonValue::Kind::kNull);
  EXPECT_EQ((*value)["a"].elements()[1].elements()[0].integer(), 2);
  EXPECT_TRUE((*value)["o"].is_object());
  EXPECT_EQ(value->find("missing"), nullptr);
  EXPECT_EQ((*value)["missing"].kind(), JsonValue::Kind::kNull);
}

TEST(JsonValueTest, ANumberBeyond64BitsIsNoInteger) {
  const Result<JsonValue> value = JsonValue::parse("[9223372036854775808]");
  ASSERT_TRUE(value);
  EXPECT_FALSE(value->elements()[0].is_integer());
}

TEST(JsonValueTest, RefusesWhatIsNoJsonAndAnythingBehindIt) {
  for (const char* text : {"", "{", "{}x", "{\"a\":}", "[1,]", "nul", "\"\xff\"", "{1:2}"}) {
    EXPECT_FALSE(JsonValue::parse(text)) << text;
  }
}

TEST(JsonValueTest, NestingIsBounded) {
  EXPECT_TRUE(JsonValue::parse(std::string(64, '[') + std::string(64, ']')));
  EXPECT_FALSE(JsonValue::parse(std::string(65, '[') + std::string(65, ']')));
  EXPECT_FALSE(JsonValue::parse(std::string(1'000'000, '[') + std::string(1'000'000, ']')));
}

}  // namespace
}  // namespace kerolox::tools
