#include "kerolox/storage/message_id.h"

#include <algorithm>
#include <optional>
#include <span>

#include "kerolox/base/endian.h"

namespace kerolox::storage {
namespace {

constexpr std::size_t kBytesV4 = 4 + 4 + 8;  // address, port, offset
constexpr std::size_t kBytesV6 = 16 + 4 + 8;

std::optional<unsigned> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') {
    return static_cast<unsigned>(digit - '0');
  }
  const char upper = static_cast<char>(digit & ~0x20);
  if (upper >= 'A' && upper <= 'F') {
    return static_cast<unsigned>(upper - 'A' + 10);
  }
  return std::nullopt;
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace

std::string MessageId::text() const {
  std::array<std::byte, kBytesV6> bytes;
  const std::size_t address_bytes = store_host.v6 ? 16 : 4;
  std::copy_n(store_host.address.begin(), address_bytes, bytes.begin());
  store_big_endian(bytes.data() + address_bytes, store_host.port);
  store_big_endian(bytes.data() + address_bytes + 4, offset.value);
  return to_hex(std::span(bytes).first(address_bytes + 4 + 8));
}

Result<MessageId> MessageId::parse(std::string_view text) {
  if (text.size() != 2 * kBytesV4 && text.size() != 2 * kBytesV6) {
    return Error(ErrorCode::kInvalidArgument, "a message id has 32 or 56 characters")
        .with_number("characters", static_cast<std::int64_t>(text.size()));
  }
  std::array<std::byte, kBytesV6> bytes{};
  for (std::size_t index = 0; index < text.size(); ++index) {
    const std::optional<unsigned> digit = hex_digit(text[index]);
    if (!digit) {
      return Error(ErrorCode::kInvalidArgument, "a message id consists of hexadecimal digits")
          .with_number("index", static_cast<std::int64_t>(index));
    }
    bytes[index / 2] = bytes[index / 2] << 4 | static_cast<std::byte>(*digit);
  }
  MessageId id;
  id.store_host.v6 = text.size() == 2 * kBytesV6;
  const std::size_t address_bytes = id.store_host.v6 ? 16 : 4;
  std::copy_n(bytes.begin(), address_bytes, id.store_host.address.begin());
  id.store_host.port = load_big_endian<std::int32_t>(bytes.data() + address_bytes);
  id.offset.value = load_big_endian<std::int64_t>(bytes.data() + address_bytes + 4);
  return id;
}

}  // namespace kerolox::storage
