// Any text: what parses is well formed, agrees with find_property(), and survives encoding.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "kerolox/base/check.h"
#include "kerolox/storage/properties.h"

namespace kerolox::storage {
namespace {

bool same(const Property& a, const Property& b) { return a.name == b.name && a.value == b.value; }

void fuzz(std::string_view text) {
  const std::vector<Property> properties = parse_properties(text);
  for (const Property& property : properties) {
    KEROLOX_CHECK(!property.name.empty() && !property.value.empty());
    KEROLOX_CHECK(property.name.find_first_of("\x01\x02") == std::string_view::npos);
    KEROLOX_CHECK(property.value.find('\x02') == std::string_view::npos);
    KEROLOX_CHECK(find_property(text, property.name) == property.value);
    KEROLOX_CHECK(std::ranges::count(properties, property.name, &Property::name) == 1);
    KEROLOX_CHECK(property.name != property::kTags ||
                  tags_code(property.value) == java_string_hash(property.value));
  }
  KEROLOX_CHECK(parse_properties(std::string(text) + '\x02').size() == properties.size());

  const std::vector<Property> ordered = in_java_map_order(properties);
  KEROLOX_CHECK(std::ranges::is_permutation(ordered, properties, same));
  if (const auto encoded = encode_properties(properties)) {
    std::vector<Property> stored = properties;
    std::erase_if(stored, [](const Property& p) { return p.name == property::kRecordCrc; });
    KEROLOX_CHECK(std::ranges::equal(parse_properties(*encoded), stored, same));
  } else {
    KEROLOX_CHECK(text.size() >= kPropertiesBytesMax);
  }
  for (const std::string_view key : split_keys(text)) {
    KEROLOX_CHECK(!key.empty() && key.find(' ') == std::string_view::npos);
  }
}

}  // namespace
}  // namespace kerolox::storage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kerolox::storage::fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
