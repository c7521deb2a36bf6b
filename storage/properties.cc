#include "kerolox/storage/properties.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "storage/property_text.h"

namespace kerolox::storage {
namespace {

// An item's two halves, or nothing if it is not well formed.
std::optional<Property> split_item(std::string_view item) {
  const std::size_t name_end = item.find(kNameEnd);
  if (name_end == std::string_view::npos || name_end == 0 || name_end + 1 == item.size()) {
    return std::nullopt;
  }
  return Property{.name = item.substr(0, name_end), .value = item.substr(name_end + 1)};
}

// Keeps of equal names the first one's place and the last one's value. Searching the few
// properties of a usual record beats hashing; the map keeps hostile strings from costing n * n.
class UniqueProperties {
 public:
  void add(const Property& property) {
    if (Property* const known = find(property.name)) {
      known->value = property.value;
      return;
    }
    properties_.push_back(property);
    if (properties_.size() > kSearched) {
      index_last();
    }
  }

  std::vector<Property> take() { return std::move(properties_); }

 private:
  static constexpr std::size_t kSearched = 24;

  Property* find(std::string_view name) {
    if (properties_.size() <= kSearched) {
      const auto at = std::ranges::find(properties_, name, &Property::name);
      return at == properties_.end() ? nullptr : &*at;
    }
    const auto at = places_.find(name);
    return at == places_.end() ? nullptr : &properties_[at->second];
  }

  void index_last() {
    for (std::size_t index = places_.size(); index < properties_.size(); ++index) {
      places_.emplace(properties_[index].name, index);
    }
  }

  std::vector<Property> properties_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

std::vector<Property> unique(std::span<const Property> properties) {
  UniqueProperties unique;
  for (const Property& property : properties) {
    unique.add(property);
  }
  return unique.take();
}

std::uint32_t spread_hash(std::string_view name) {
  const auto hash = static_cast<std::uint32_t>(java_string_hash(name));
  return hash ^ hash >> 16;
}

// The number of buckets of a HashMap that these hashes were put into, one after the other. It
// doubles when more than three quarters full, and, while small, for each entry that would be the
// ninth or a later one of its bucket.
std::size_t java_table_size(std::span<const std::uint32_t> hashes) {
  constexpr std::size_t kInitialBuckets = 16;
  constexpr std::size_t kTreeifiedFrom = 64;
  constexpr std::ptrdiff_t kBucketEntriesMax = 8;

  std::size_t buckets = kInitialBuckets;
  for (std::size_t index = 0; index < hashes.size(); ++index) {
    const auto before = hashes.first(index);
    const std::size_t mask = buckets - 1;
    if (buckets < kTreeifiedFrom &&
        std::ranges::count_if(
            before, [&](std::uint32_t hash) { return (hash & mask) == (hashes[index] & mask); }) >=
            kBucketEntriesMax) {
      buckets *= 2;
    }
    if (index + 1 > buckets / 4 * 3) {
      buckets *= 2;
    }
  }
  return buckets;
}

}  // namespace

std::vector<Property> parse_properties(std::string_view text) {
  UniqueProperties unique;
  while (!text.empty()) {
    if (const auto property = split_item(next_property_item(text))) {
      unique.add(*property);
    }
  }
  return unique.take();
}

std::optional<std::string_view> find_property(std::string_view text, std::string_view name) {
  std::optional<std::string_view> found;
  while (!text.empty()) {
    const std::string_view item = next_property_item(text);
    // Longer by the separator and at least one byte of value. A 0x01 within `name` matches nothing.
    if (item.size() > name.size() + 1 && item[name.size()] == kNameEnd && item.starts_with(name)) {
      found = item.substr(name.size() + 1);
    }
  }
  const bool can_be_a_name = !name.empty() && name.find(kNameEnd) == std::string_view::npos;
  return can_be_a_name ? found : std::nullopt;
}

Result<std::string> encode_properties(std::span<const Property> properties) {
  const Message message{.properties = properties};
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t bytes, checked_property_bytes(message));
  if (bytes > kPropertiesBytesMax) {
    return Error(ErrorCode::kInvalidArgument, "the properties are too long")
        .with_number("bytes", static_cast<std::int64_t>(bytes))
        .with_number("bytes_max", kPropertiesBytesMax);
  }
  std::string text(bytes, '\0');
  char* const end = write_properties(message, text.data());
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

std::vector<Property> in_java_map_order(std::span<const Property> properties) {
  const std::vector<Property> entries = unique(properties);
  std::vector<std::uint32_t> hashes;
  std::vector<std::size_t> order;
  for (const Property& entry : entries) {
    order.push_back(hashes.size());
    hashes.push_back(spread_hash(entry.name));
  }
  // A bucket lists its entries in the order of insertion, and doubling the table keeps it.
  const std::size_t mask = java_table_size(hashes) - 1;
  std::ranges::sort(order, {},
                    [&](std::size_t index) { return std::pair(hashes[index] & mask, index); });

  std::vector<Property> ordered;
  ordered.reserve(order.size());
  for (const std::size_t index : order) {
    ordered.push_back(entries[index]);
  }
  return ordered;
}

std::vector<std::string_view> split_keys(std::string_view keys) {
  std::vector<std::string_view> tokens;
  while (!keys.empty()) {
    const std::size_t end = keys.find(' ');
    if (end != 0) {
      tokens.push_back(keys.substr(0, end));
    }
    keys.remove_prefix(end == std::string_view::npos ? keys.size() : end + 1);
  }
  return tokens;
}

}  // namespace kerolox::storage
