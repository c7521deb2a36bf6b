#include "kerolox/storage/message.h"

#include <arpa/inet.h>

#include <charconv>

#include "kerolox/base/endian.h"
#include "kerolox/storage/properties.h"

namespace kerolox::storage {
namespace {

constexpr std::size_t kGroupsV6 = 8;

Error not_a_host(std::string_view text) {
  return Error(ErrorCode::kInvalidArgument, "this is no address and port")
      .at("\"" + std::string(text) + "\"")
      .with_remedy("write it as 1.2.3.4:10911 or [2001:db8::1]:10911");
}

std::optional<std::int32_t> parse_port(std::string_view text) {
  constexpr std::int32_t kPortMax = 65535;
  std::int32_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, fault] = std::from_chars(text.data(), end, port);
  if (fault != std::errc{} || stopped != end || port < 0 || port > kPortMax) {
    return std::nullopt;
  }
  return port;
}

bool parse_address(const std::string& text, Host& host) {
  return inet_pton(host.v6 ? AF_INET6 : AF_INET, text.c_str(), host.address.data()) == 1;
}

void append_hex(std::string& text, unsigned number) {
  std::array<char, 4> digits;
  const auto [end, fault] = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  text.append(digits.data(), end);
}

}  // namespace

Result<Host> Host::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  // inet_pton() stops at a NUL, and would believe what stands before it.
  if (colon == std::string_view::npos || text.find('\0') != std::string_view::npos) {
    return not_a_host(text);
  }
  std::string_view address = text.substr(0, colon);
  Host host;
  host.v6 = address.starts_with('[') && address.ends_with(']');
  if (host.v6) {
    address = address.substr(1, address.size() - 2);
  }
  const std::optional<std::int32_t> port = parse_port(text.substr(colon + 1));
  if (!port || !parse_address(std::string(address), host)) {
    return not_a_host(text);
  }
  host.port = *port;
  return host;
}

std::string Host::text() const {
  std::string text;
  if (v6) {
    text += '[';
    for (std::size_t group = 0; group < kGroupsV6; ++group) {
      text += group == 0 ? "" : ":";
      append_hex(text, load_big_endian<std::uint16_t>(address.data() + 2 * group));
    }
    text += ']';
  } else {
    for (std::size_t index = 0; index < 4; ++index) {
      text += index == 0 ? "" : ".";
      text += std::to_string(std::to_integer<int>(address[index]));
    }
  }
  return text + ":" + std::to_string(port);
}

Host loopback_host() {
  return Host{.address = {std::byte{127}, std::byte{0}, std::byte{0}, std::byte{1}}};
}

std::optional<std::string_view> MessageView::property(std::string_view name) const {
  return find_property(properties, name);
}

std::string_view MessageView::tags() const {
  return property(property::kTags).value_or(std::string_view{});
}

std::string_view MessageView::keys() const {
  return property(property::kKeys).value_or(std::string_view{});
}

}  // namespace kerolox::storage
