// The body of a client's batch send: several messages that share topic, queue, hosts and times.
// Bytes on the wire: storage/FORMAT.md, section "Client batch".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/message.h"

namespace kerolox::storage {

// Splits `body` into messages that take everything but flag, body and (encoded, verbatim)
// properties from `shared`. Borrows from `body`. Errors: kInvalidArgument, naming the item and byte
// that is wrong; a transaction type or delay level in `shared`, or a topic beginning with
// "%RETRY%".
KEROLOX_API Result<std::vector<Message>> split_client_batch(std::span<const std::byte> body,
                                                            const Message& shared);

// The reverse. Properties are encoded in the order given. Errors: kInvalidArgument.
KEROLOX_API Result<std::vector<std::byte>> encode_client_batch(std::span<const Message> messages);

}  // namespace kerolox::storage
