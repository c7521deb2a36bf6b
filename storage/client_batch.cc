#include "kerolox/storage/client_batch.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "kerolox/base/endian.h"
#include "kerolox/storage/properties.h"
#include "storage/property_text.h"

namespace kerolox::storage {
namespace {

// An item: size, two fields that nobody reads, flag, body length, body, properties length,
// properties.
constexpr std::size_t kFlagAt = 12;
constexpr std::size_t kBodyLengthAt = 16;
constexpr std::size_t kBodyAt = 20;
constexpr std::size_t kItemBytesMin = 22;

// What is wrong with an item, and which of its bytes says so.
struct Fault {
  const char* message;
  std::size_t at;
};

// Fills flag, body and properties of `message` from what `rest` begins with, and returns the item's
// size.
std::variant<std::size_t, Fault> split_item(std::span<const std::byte> rest, Message& message) {
  if (rest.size() < kItemBytesMin) {
    return Fault{"the item is cut off", 0};
  }
  const auto size = load_big_endian<std::uint32_t>(rest.data());  // negative: too large
  if (size < kItemBytesMin || size > rest.size()) {
    return Fault{"the item's size does not fit the batch", 0};
  }
  std::size_t variable = size - kItemBytesMin;
  const auto body_bytes = load_big_endian<std::uint32_t>(rest.data() + kBodyLengthAt);
  if (body_bytes > variable) {
    return Fault{"the body length does not fit the item", kBodyLengthAt};
  }
  variable -= body_bytes;
  const std::byte* const at = rest.data() + kBodyAt + body_bytes;
  const auto property_bytes = load_big_endian<std::int16_t>(at);
  if (property_bytes < 0 || static_cast<std::size_t>(property_bytes) != variable) {
    return Fault{"the properties length does not fit the item", kBodyAt + body_bytes};
  }
  message.flag = load_big_endian<std::int32_t>(rest.data() + kFlagAt);
  message.body = rest.subspan(kBodyAt, body_bytes);
  message.encoded_properties = {reinterpret_cast<const char*>(at + 2), variable};
  return std::size_t{size};
}

bool has_delay_level(const Message& message) {
  for (const Property& property : message.properties) {
    if (property.name == property::kDelayLevel) {
      return true;
    }
  }
  return find_property(message.encoded_properties, property::kDelayLevel).has_value();
}

Result<void> check_shared(const Message& shared) {
  if ((shared.sys_flag & sys_flag::kTransactionMask) != 0) {
    return Error(ErrorCode::kInvalidArgument, "a batch cannot be part of a transaction");
  }
  if (has_delay_level(shared)) {
    return Error(ErrorCode::kInvalidArgument, "a batch cannot be delayed");
  }
  if (shared.topic.starts_with("%RETRY%")) {
    return Error(ErrorCode::kInvalidArgument, "a batch cannot go to a retry topic");
  }
  return {};
}

Message message_for_items(const Message& shared) {
  Message message = shared;
  message.tags = {};
  message.keys = {};
  message.properties = {};
  message.prepared_transaction_offset = {};
  return message;
}

Error item_error(const char* message, std::size_t item) {
  return Error(ErrorCode::kInvalidArgument, message)
      .with_number("item", static_cast<std::int64_t>(item));
}

Result<void> append_item(const Message& message, std::size_t item, std::vector<std::byte>& batch) {
  KEROLOX_ASSIGN_OR_RETURN(const std::size_t property_bytes_most, checked_property_bytes(message));
  const std::size_t begin = batch.size();
  batch.resize(begin + kItemBytesMin + message.body.size() + property_bytes_most);
  std::byte* at = batch.data() + begin;
  store_big_endian(at + kFlagAt, message.flag);
  store_big_endian(at + kBodyLengthAt, static_cast<std::uint32_t>(message.body.size()));
  at = std::ranges::copy(message.body, at + kBodyAt).out;
  char* const properties = reinterpret_cast<char*>(at + 2);
  char* const end = write_properties(message, properties);
  if (end - properties > static_cast<std::ptrdiff_t>(kPropertiesBytesMax)) {
    return item_error("the properties are too long", item)
        .with_number("bytes", end - properties)
        .with_number("bytes_max", kPropertiesBytesMax);
  }
  store_big_endian(at, static_cast<std::int16_t>(end - properties));
  const auto size =
      static_cast<std::size_t>(reinterpret_cast<std::byte*>(end) - batch.data()) - begin;
  if (std::cmp_greater(size, std::numeric_limits<std::int32_t>::max())) {
    return item_error("the item is too large", item);
  }
  store_big_endian(batch.data() + begin, static_cast<std::int32_t>(size));
  batch.resize(begin + size);
  return {};
}

}  // namespace

Result<std::vector<Message>> split_client_batch(std::span<const std::byte> body,
                                                const Message& shared) {
  KEROLOX_RETURN_IF_ERROR(check_shared(shared));
  if (body.empty()) {
    return Error(ErrorCode::kInvalidArgument, "the batch holds no message");
  }
  std::vector<Message> messages;
  Message message = message_for_items(shared);
  for (std::size_t at = 0; at < body.size();) {
    const auto split = split_item(body.subspan(at), message);
    if (const Fault* const fault = std::get_if<Fault>(&split)) {
      return item_error(fault->message, messages.size())
          .with_number("byte", static_cast<std::int64_t>(at + fault->at));
    }
    messages.push_back(message);
    at += std::get<std::size_t>(split);
  }
  return messages;
}

Result<std::vector<std::byte>> encode_client_batch(std::span<const Message> messages) {
  if (messages.empty()) {
    return Error(ErrorCode::kInvalidArgument, "the batch holds no message");
  }
  std::vector<std::byte> batch;
  for (std::size_t item = 0; item < messages.size(); ++item) {
    KEROLOX_RETURN_IF_ERROR(append_item(messages[item], item, batch));
  }
  return batch;
}

}  // namespace kerolox::storage
