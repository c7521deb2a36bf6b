// What Java's String does with UTF-8.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kerolox/storage/properties.h"

namespace kerolox::storage {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

// Takes the next code point off `text`, which is not empty. An ill-formed sequence gives one
// U+FFFD for the longest part of it that could have begun a character, as Java's decoder does.
std::uint32_t next_code_point(std::string_view& text) {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const std::uint32_t lead = at(0);
  std::size_t length = 0;
  std::uint32_t code_point = 0;
  // The second byte's range excludes overlong forms and what is above U+10FFFF.
  std::uint32_t second_min = 0x80;
  std::uint32_t second_max = 0xBF;
  if (lead < 0x80) {
    length = 1;
    code_point = lead;
  } else if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
    code_point = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    code_point = lead & 0x0F;
    second_min = lead == 0xE0 ? 0xA0 : 0x80;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    code_point = lead & 0x07;
    second_min = lead == 0xF0 ? 0x90 : 0x80;
    second_max = lead == 0xF4 ? 0x8F : 0xBF;
  }

  std::size_t taken = 1;
  while (taken < length && taken < text.size()) {
    const std::uint32_t next = at(taken);
    if (next < second_min || next > second_max) {
      break;
    }
    code_point = code_point << 6 | (next & 0x3F);
    second_min = 0x80;
    second_max = 0xBF;
    ++taken;
  }
  text.remove_prefix(taken);
  // Java replaces a surrogate as a whole.
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return taken == length && !is_surrogate ? code_point : kReplacement;
}

}  // namespace

std::int32_t java_string_hash(std::string_view utf8) {
  std::uint32_t hash = 0;
  while (!utf8.empty()) {
    const std::uint32_t code_point = next_code_point(utf8);
    if (code_point < 0x10000) {
      hash = hash * 31 + code_point;
    } else {
      const std::uint32_t high = 0xD800 + ((code_point - 0x10000) >> 10);
      const std::uint32_t low = 0xDC00 + ((code_point - 0x10000) & 0x3FF);
      hash = (hash * 31 + high) * 31 + low;
    }
  }
  return static_cast<std::int32_t>(hash);
}

std::int64_t tags_code(std::string_view tags) { return java_string_hash(tags); }

}  // namespace kerolox::storage
