// Text as Java sees it, and base64.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kerolox::tools {

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

bool valid_utf8(std::string_view text);

// `text` as Java decodes it from UTF-8 and writes it again: each malformed sequence becomes one
// U+FFFD, cut where Java cuts it. Valid text stays as it is.
std::string java_text(std::string_view text);

// Whether `a` comes before `b` in the order of Java's String.compareTo: by UTF-16 code units, which
// puts U+10000 and above before U+E000. Both must be valid UTF-8.
bool java_less(std::string_view a, std::string_view b);
struct JavaLess {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the standard library's
  bool operator()(std::string_view a, std::string_view b) const { return java_less(a, b); }
};

std::string encode_base64(std::span<const std::byte> bytes);
// Nothing if `text` is not canonical, padded base64.
std::optional<std::string> decode_base64(std::string_view text);

std::string hex_sha256(std::span<const std::byte> bytes);

}  // namespace kerolox::tools
