#include "tools/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "kerolox/storage/properties.h"

namespace kerolox::tools {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(JavaTextTest, ValidTextStaysAsItIs) {
  const std::string text = "größe λ→∞ 😀 \x7f";
  EXPECT_TRUE(valid_utf8(text));
  EXPECT_EQ(java_text(text), text);
}

// The expectations are what OpenJDK 17 makes of these bytes.
TEST(JavaTextTest, MalformedSequencesBecomeReplacementsWhereJavaCutsThem) {
  const std::string r = "\xEF\xBF\xBD";
  const std::pair<const char*, std::string> cases[] = {{"a0f5f5f8", r + r + r + r},
                                                       {"edbf", r},
                                                       {"eda090f8f1f0", r + r + r + r},
                                                       {"41f4edbf", "A" + r + r},
                                                       {"c1e1", r + r},
                                                       {"f4edbfe17f41", r + r + r +
                                                                            "\x7f"
                                                                            "A"},
                                                       {"eda080", r},
                                                       {"e0809f", r + r + r},
                                                       {"f09f98", r},
                                                       {"f4908080", r + r + r + r},
                                                       {"c280", "\xC2\x80"}};
  for (const auto& [hex, expected] : cases) {
    EXPECT_EQ(java_text(from_hex(hex)), expected) << hex;
    EXPECT_EQ(valid_utf8(from_hex(hex)), from_hex(hex) == expected) << hex;
  }
}

// The hash of what Java decodes is known for ill-formed bytes, too: equal hashes, equal text.
TEST(JavaTextTest, HashesOfIllFormedTextAreJavas) {
  std::ifstream file(KEROLOX_SOURCE_DIR "/tests/golden/java/strings.tsv");
  std::string line;
  int compared = 0;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string kind;
    std::string hex;
    std::int32_t hash = 0;
    if (std::getline(fields, kind, '\t') && kind == "hash" && std::getline(fields, hex, '\t') &&
        fields >> hash) {
      EXPECT_EQ(storage::java_string_hash(java_text(from_hex(hex))), hash) << hex;
      ++compared;
    }
  }
  EXPECT_GT(compared, 50);
}

TEST(JavaTextTest, OrderIsThatOfUtf16CodeUnits) {
  EXPECT_TRUE(java_less("a", "b"));
  EXPECT_TRUE(java_less("a", "aa"));
  EXPECT_FALSE(java_less("a", "a"));
  EXPECT_TRUE(java_less("\xF0\x9F\x98\x80", "\xEE\x80\x80"));  // U+1F600 before U+E000
  EXPECT_TRUE(java_less("\xED\x9F\xBF", "\xF0\x9F\x98\x80"));  // U+D7FF before U+1F600
}

TEST(Base64Test, EncodesAndDecodesEveryLength) {
  const std::string bytes("\x00\xFF\x10 base", 8);
  const char* const texts[] = {"", "AA==", "AP8=", "AP8Q", "AP8QIA==", "AP8QIGI=", "AP8QIGJh"};
  for (std::size_t length = 0; length < std::size(texts); ++length) {
    EXPECT_EQ(encode_base64(as_bytes(bytes.substr(0, length))), texts[length]);
    EXPECT_EQ(decode_base64(texts[length]), bytes.substr(0, length));
  }
}

TEST(Base64Test, RefusesWhatNoEncoderWrites) {
  for (const char* text : {"A", "AA", "AA=A", "AB==", "A===", "====", "AP9=", "AP8*", "AP8=AP8="}) {
    EXPECT_FALSE(decode_base64(text)) << text;
  }
}

TEST(Sha256Test, OfTheEmptyBodyIsTheKnownOne) {
  EXPECT_EQ(hex_sha256({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace kerolox::tools
