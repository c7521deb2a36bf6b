// Property strings as the encoders write them. Shared by records and client batches, so that both
// refuse the same things and give the same bytes.
#pragma once

#include <cstddef>
#include <string_view>

#include "kerolox/base/result.h"
#include "kerolox/storage/message.h"

namespace kerolox::storage {

inline constexpr char kNameEnd = '\x01';
inline constexpr char kPropertyEnd = '\x02';

// Checks all properties of `message` and returns how many bytes write_properties() may write at
// most. Errors: kInvalidArgument, as RecordEncoder::prepare() lists them.
Result<std::size_t> checked_property_bytes(const Message& message);

// Writes what the message's properties are as text, without any `__CRC32#`; encoded ones verbatim
// else. Returns the end. Only after checked_property_bytes() found no fault.
char* write_properties(const Message& message, char* to);

// Splits off and returns the first item of `rest`, without its 0x02. Only for a `rest` that is not
// empty.
inline std::string_view next_property_item(std::string_view& rest) {
  const std::size_t end = rest.find(kPropertyEnd);
  const std::string_view item = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return item;
}

}  // namespace kerolox::storage
