// The property string of a record: `name 0x01 value 0x02`, repeated.
// Bytes on disk: storage/FORMAT.md, section "Properties".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/result.h"
#include "kerolox/storage/message.h"

namespace kerolox::storage {

// Well-formed properties in their stored order. As Java's parser: the last 0x02 may be missing; an
// item shorter than three characters, without 0x01, with an empty name or value is skipped; of
// equal names the last one counts (only it is kept, at the place of the first). Borrows from
// `text`.
KEROLOX_API std::vector<Property> parse_properties(std::string_view text);

// The value that parse_properties() would give `name`, without allocating.
KEROLOX_API std::optional<std::string_view> find_property(std::string_view text,
                                                          std::string_view name);

// Errors: kInvalidArgument for an empty name or value, a 0x01 or 0x02 where none may stand, or more
// than kPropertiesBytesMax bytes.
KEROLOX_API Result<std::string> encode_properties(std::span<const Property> properties);

// `properties` in the order in which Java's HashMap, filled in the given order, lists them: the
// order in which RocketMQ's clients and store write them. Not followed where Java turns a bucket of
// more than eight names into a tree, which takes a table of 64 buckets or more and as many
// collisions.
KEROLOX_API std::vector<Property> in_java_map_order(std::span<const Property> properties);

// String.hashCode() of the UTF-16 form of `utf8`; invalid UTF-8 counts as U+FFFD.
KEROLOX_API std::int32_t java_string_hash(std::string_view utf8);

// The tags code of a consume queue unit: 0 without tags, else java_string_hash(), sign-extended.
KEROLOX_API std::int64_t tags_code(std::string_view tags);

// The tokens of a KEYS value: separated by single spaces, empty ones dropped.
KEROLOX_API std::vector<std::string_view> split_keys(std::string_view keys);

}  // namespace kerolox::storage
