#include "kerolox/storage/properties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "storage/codec_support.h"
#include "support/golden.h"

namespace kerolox::storage {
namespace {

using namespace std::string_literals;

std::string listed(std::span<const Property> properties) {
  std::string text;
  for (const Property& property : properties) {
    text.append(property.name).append("=").append(property.value).append(";");
  }
  return text;
}

std::string parsed(std::string_view text) { return listed(parse_properties(text)); }

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

TEST(PropertiesTest, TheFinalSeparatorMayBeMissing) {
  EXPECT_EQ(parsed("a\x01"
                   "1\x02"
                   "b\x01"
                   "2\x02"),
            "a=1;b=2;");
  EXPECT_EQ(parsed("a\x01"
                   "1\x02"
                   "b\x01"
                   "2"),
            "a=1;b=2;");
  EXPECT_EQ(parsed(""), "");
}

TEST(PropertiesTest, ItemsThatAreNotWellFormedAreSkipped) {
  EXPECT_EQ(parsed("\x02"
                   "ab\x02"
                   "abc\x02\x01v\x02"
                   "n\x01\x02"
                   "\x01\x02ok\x01v"),
            "ok=v;");
}

TEST(PropertiesTest, AValueMayContainFurtherNameSeparators) {
  EXPECT_EQ(parsed("a\x01x\x01y\x02"), "a=x\x01y;");
  EXPECT_EQ(parsed("a\x01\x01\x02"), "a=\x01;");
  EXPECT_EQ(parsed("\x01"
                   "a\x01v\x02"),
            "");
}

TEST(PropertiesTest, OfEqualNamesTheLastCountsAtThePlaceOfTheFirst) {
  EXPECT_EQ(parsed("a\x01"
                   "1\x02"
                   "b\x01"
                   "2\x02"
                   "a\x01"
                   "3\x02"),
            "a=3;b=2;");
  EXPECT_EQ(find_property("a\x01"
                          "1\x02"
                          "b\x01"
                          "2\x02"
                          "a\x01"
                          "3\x02",
                          "a"),
            "3");
  EXPECT_EQ(find_property("a\x01"
                          "1\x02"
                          "a\x01\x02",
                          "a"),
            "1")
      << "an empty one is skipped";
}

TEST(PropertiesTest, ManyPropertiesKeepTheSameRules) {
  std::string text;
  std::string expected;
  for (int index = 0; index < 300; ++index) {
    text += "n" + std::to_string(index) + "\x01old\x02";
    expected += "n" + std::to_string(index) + "=new;";
  }
  for (int index = 299; index >= 0; --index) {
    text += "n" + std::to_string(index) + "\x01new\x02";
  }
  EXPECT_EQ(parsed(text), expected);
}

TEST(PropertiesTest, AnEmptyNameOrOneWithASeparatorIsNeverFound) {
  EXPECT_EQ(find_property("\x01v\x02", ""), std::nullopt);
  EXPECT_EQ(find_property("a\x01"
                          "b\x01v\x02",
                          "a\x01"
                          "b"),
            std::nullopt);
  EXPECT_EQ(find_property("ab\x01v\x02", "a"), std::nullopt);
}

TEST(PropertiesTest, FindingAgreesWithParsingOnRandomText) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 24, ' ');
    std::ranges::generate(text, [&] {
      return "\x01\x01\x02"
             "ab"[random() % 5];
    });
    const auto all = parse_properties(text);
    for (const std::string name : {"a", "b", "ab", "ba", "aa"}) {
      const auto at = std::ranges::find(all, name, &Property::name);
      EXPECT_EQ(find_property(text, name),
                at == all.end() ? std::nullopt : std::optional(at->value));
    }
  }
}

TEST(PropertiesTest, WhatIsEncodedIsParsedBack) {
  const std::vector<Property> properties{{"b", "2"}, {"a", "x\x01y"}};
  const std::string text = encode_properties(properties).value();
  EXPECT_EQ(text,
            "b\x01"
            "2\x02"
            "a\x01x\x01y\x02");
  EXPECT_EQ(parsed(text), listed(properties));
}

TEST(PropertiesTest, WhatCannotBeParsedBackIsNotEncoded) {
  const Property malformed[] = {
      {"", "v"}, {"n", ""}, {"a\x01", "v"}, {"a\x02", "v"}, {"a", "\x02"}};
  for (const Property& property : malformed) {
    const auto encoded = encode_properties(std::span(&property, 1));
    ASSERT_FALSE(encoded.has_value());
    EXPECT_EQ(encoded.error().code(), ErrorCode::kInvalidArgument);
  }
}

TEST(PropertiesTest, EncodedPropertiesHave32767BytesAtMost) {
  const std::string value(32765, 'v');
  const Property fits{"n", std::string_view(value).substr(1)};
  EXPECT_EQ(encode_properties(std::span(&fits, 1)).value().size(), 32767U);
  const Property longer{"n", value};
  EXPECT_EQ(encode_properties(std::span(&longer, 1)).error().code(), ErrorCode::kInvalidArgument);
}

TEST(JavaStringTest, MapOrderAndHashesAreThoseOfJava) {
  int orders = 0;
  int hashes = 0;
  for (const std::string& line : split(kerolox::test::read_golden("java/strings.tsv"), '\n')) {
    const auto fields = split(line, '\t');
    if (fields[0] == "order") {
      ++orders;
      const auto names = split(fields[1], ',');
      std::vector<Property> properties;
      for (const std::string& name : names) {
        properties.push_back({name, "v"});
      }
      std::string order;
      for (const Property& property : in_java_map_order(properties)) {
        order.append(order.empty() ? "" : ",").append(property.name);
      }
      EXPECT_EQ(order, fields[2]) << "of " << fields[1];
    } else {
      ++hashes;
      const auto bytes = kerolox::test::bytes_of_hex(fields[1]);
      EXPECT_EQ(java_string_hash(test::text_of(bytes)), std::stoi(fields[2])) << fields[1];
    }
  }
  EXPECT_EQ(orders, 60);
  EXPECT_EQ(hashes, 200);
}

TEST(JavaStringTest, MapOrderKeepsTheLastOfEqualNames) {
  const std::vector<Property> properties{{"TAGS", "old"}, {"TAGS", "new"}};
  EXPECT_EQ(listed(in_java_map_order(properties)), "TAGS=new;");
}

TEST(JavaStringTest, TheTagsCodeIsTheHashSignExtended) {
  EXPECT_EQ(tags_code(""), 0);
  EXPECT_EQ(tags_code("TagA"), 2598919);
  EXPECT_EQ(tags_code("payment"), -786681338);
}

TEST(KeysTest, KeysAreSeparatedBySpacesAndEmptyOnesDropped) {
  EXPECT_EQ(split_keys("a b"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(split_keys("  a  b\tc "), (std::vector<std::string_view>{"a", "b\tc"}));
  EXPECT_TRUE(split_keys("").empty());
  EXPECT_TRUE(split_keys("   ").empty());
}

}  // namespace
}  // namespace kerolox::storage
