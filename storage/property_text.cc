#include "storage/property_text.h"

#include <cstring>

#include "kerolox/storage/properties.h"

namespace kerolox::storage {
namespace {

bool contains(std::string_view text, char character) {
  return text.find(character) != std::string_view::npos;
}

Result<void> check_property(const Property& property) {
  if (property.name.empty() || property.value.empty()) {
    return Error(ErrorCode::kInvalidArgument, "a property has an empty name or value")
        .at(std::string(property.name));
  }
  if (contains(property.name, kNameEnd) || contains(property.name, kPropertyEnd) ||
      contains(property.value, kPropertyEnd)) {
    return Error(ErrorCode::kInvalidArgument,
                 "a property contains a separator (0x01 in a name, 0x02 anywhere)")
        .at(std::string(property.name));
  }
  return {};
}

Error given_twice(std::string_view name) {
  return Error(ErrorCode::kInvalidArgument, "a property is given twice")
      .at(std::string(name))
      .with_remedy("set it by its own field or among the properties");
}

bool is_record_crc(std::string_view item) {
  return item.starts_with(property::kRecordCrc) && item.size() > property::kRecordCrc.size() &&
         item[property::kRecordCrc.size()] == kNameEnd;
}

char* copy(std::string_view text, char* to) {
  if (!text.empty()) {
    std::memcpy(to, text.data(), text.size());
  }
  return to + text.size();
}

char* write_property(std::string_view name, std::string_view value, char* to) {
  to = copy(name, to);
  *to++ = kNameEnd;
  to = copy(value, to);
  *to++ = kPropertyEnd;
  return to;
}

char* write_without_record_crc(std::string_view text, char* to) {
  if (text.find(property::kRecordCrc) == std::string_view::npos) {
    return copy(text, to);
  }
  while (!text.empty()) {
    const std::string_view whole = text;
    const std::string_view item = next_property_item(text);
    if (!is_record_crc(item)) {
      to = copy(whole.substr(0, whole.size() - text.size()), to);
    }
  }
  return to;
}

Result<std::size_t> checked_field(std::string_view name, std::string_view value) {
  if (value.empty()) {
    return std::size_t{0};
  }
  KEROLOX_RETURN_IF_ERROR(check_property({name, value}));
  return name.size() + value.size() + 2;
}

}  // namespace

Result<std::size_t> checked_property_bytes(const Message& message) {
  if (!message.encoded_properties.empty()) {
    if (!message.tags.empty() || !message.keys.empty() || !message.properties.empty()) {
      return Error(ErrorCode::kInvalidArgument, "encoded_properties stand beside other properties")
          .with_remedy("put all of them into encoded_properties, or none");
    }
    return message.encoded_properties.size();
  }
  KEROLOX_ASSIGN_OR_RETURN(std::size_t bytes, checked_field(property::kTags, message.tags));
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t key_bytes,
                           checked_field(property::kKeys, message.keys));
  bytes += key_bytes;
  for (const Property& property : message.properties) {
    KEROLOX_RETURN_IF_ERROR(check_property(property));
    if ((!message.tags.empty() && property.name == property::kTags) ||
        (!message.keys.empty() && property.name == property::kKeys)) {
      return given_twice(property.name);
    }
    bytes += property.name.size() + property.value.size() + 2;
  }
  return bytes;
}

char* write_properties(const Message& message, char* to) {
  if (!message.encoded_properties.empty()) {
    return write_without_record_crc(message.encoded_properties, to);
  }
  if (!message.tags.empty()) {
    to = write_property(property::kTags, message.tags, to);
  }
  if (!message.keys.empty()) {
    to = write_property(property::kKeys, message.keys, to);
  }
  for (const Property& property : message.properties) {
    if (property.name != property::kRecordCrc) {
      to = write_property(property.name, property.value, to);
    }
  }
  return to;
}

}  // namespace kerolox::storage
