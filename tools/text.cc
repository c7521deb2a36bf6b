#include "tools/text.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "kerolox/base/check.h"

namespace kerolox::tools {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

struct Sequence {
  std::size_t bytes = 1;
  bool valid = false;
};

// The sequence of three that begins `text`. Java takes an encoded surrogate as one malformed
// sequence of three bytes, and of an incomplete one as many bytes as could belong to it.
Sequence three_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const bool overlong = lead == 0xE0 && continues(text, 1) && (text[1] & 0x20) == 0;
  if (overlong || !continues(text, 1)) {
    return {1, false};
  }
  if (!continues(text, 2)) {
    return {2, false};
  }
  const bool surrogate = lead == 0xED && (text[1] & 0x20) != 0;
  return {3, !surrogate};
}

Sequence four_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead > 0xF4 || !continues(text, 1)) {
    return {1, false};
  }
  const auto second = static_cast<unsigned char>(text[1]);
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) {
    return {1, false};
  }
  if (!continues(text, 2)) {
    return {2, false};
  }
  return continues(text, 3) ? Sequence{4, true} : Sequence{3, false};
}

Sequence next_sequence(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) {
    return {1, true};
  }
  if (lead >= 0xC2 && lead < 0xE0) {
    return continues(text, 1) ? Sequence{2, true} : Sequence{1, false};
  }
  if (lead >= 0xE0 && lead < 0xF0) {
    return three_bytes(text);
  }
  return lead >= 0xF0 ? four_bytes(text) : Sequence{1, false};
}

// Orders lead bytes of UTF-8 as the UTF-16 code units that they begin: U+E000 to U+FFFF (leads EE
// and EF) come after the surrogates of everything above (leads F0 to F4).
int code_unit_rank(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value == 0xEE || value == 0xEF ? value + 0x10 : value;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> kBase64Values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kBase64.size(); ++i) {
    values[static_cast<unsigned char>(kBase64[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}();

}  // namespace

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Sequence sequence = next_sequence(text);
    if (!sequence.valid) {
      return false;
    }
    text.remove_prefix(sequence.bytes);
  }
  return true;
}

std::string java_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = next_sequence(text);
    result.append(sequence.valid ? text.substr(0, sequence.bytes) : kReplacement);
    text.remove_prefix(sequence.bytes);
  }
  return result;
}

bool java_less(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return code_unit_rank(x) < code_unit_rank(y);
  });
}

std::string encode_base64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? std::to_integer<std::uint32_t>(bytes[i + j]) : 0);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text.push_back(j <= count ? kBase64[group >> (18 - 6 * j) & 63] : '=');
    }
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const std::size_t padding = !last || text[i + 3] != '=' ? 0 : text[i + 2] != '=' ? 1 : 2;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const int value =
          j < 4 - padding ? kBase64Values[static_cast<unsigned char>(text[i + j])] : 0;
      if (value < 0) {
        return std::nullopt;
      }
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    if ((group & ((1U << (8 * padding)) - 1)) != 0) {
      return std::nullopt;  // bits that no byte has: another text would decode to the same bytes
    }
    for (std::size_t j = 0; j < 3 - padding; ++j) {
      bytes.push_back(static_cast<char>(group >> (16 - 8 * j) & 0xFF));
    }
  }
  return bytes;
}

std::string hex_sha256(std::span<const std::byte> bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_bytes = 0;
  // Fails only without memory or without the algorithm, which every build has.
  KEROLOX_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &digest_bytes, EVP_sha256(),
                           nullptr) == 1);
  std::string text;
  text.reserve(std::size_t{2} * digest_bytes);
  for (unsigned int i = 0; i < digest_bytes; ++i) {
    text.push_back("0123456789abcdef"[digest[i] >> 4]);
    text.push_back("0123456789abcdef"[digest[i] & 15]);
  }
  return text;
}

}  // namespace kerolox::tools
