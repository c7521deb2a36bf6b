// Identifiers of messages: where a record is, and what its producer called it.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "kerolox/base/api.h"
#include "kerolox/storage/message.h"

namespace kerolox::storage {

// RocketMQ's offsetMsgId: upper-case hex of the store host's field (address, then i32 port) and the
// i64 physical offset: 32 or 56 characters.
struct KEROLOX_API MessageId {
  Host store_host;
  PhysicalOffset offset;

  std::string text() const;
  // Errors: kInvalidArgument, naming the length or the character that is wrong.
  static Result<MessageId> parse(std::string_view text);
};

}  // namespace kerolox::storage
