// What an embedder appends, and what it reads back. Both borrow: a Message refers to the caller's
// memory for the length of the call, a MessageView to the memory of the ReadBatch that it came
// from. Bytes on disk: storage/FORMAT.md, section "Record".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"

namespace kerolox::storage {

// Bits of a record's sysFlag (org.apache.rocketmq.common.sysflag.MessageSysFlag).
namespace sys_flag {
inline constexpr std::int32_t kCompressed = 0x1;
inline constexpr std::int32_t kMultiTags = 0x2;
inline constexpr std::int32_t kTransactionMask = 0xC;
inline constexpr std::int32_t kTransactionPrepared = 0x4;
inline constexpr std::int32_t kTransactionCommit = 0x8;
inline constexpr std::int32_t kTransactionRollback = 0xC;
inline constexpr std::int32_t kBornHostV6 = 0x10;
inline constexpr std::int32_t kStoreHostV6 = 0x20;
inline constexpr std::int32_t kNeedsUnwrap = 0x40;
inline constexpr std::int32_t kInnerBatch = 0x80;
inline constexpr std::int32_t kCompressionMask = 0x700;
inline constexpr std::int32_t kCompressionLz4 = 0x100;
inline constexpr std::int32_t kCompressionZstd = 0x200;
inline constexpr std::int32_t kCompressionZlib = 0x300;

// Whether a record with these flags takes a place in its queue: prepared and rolled-back ones do
// not.
constexpr bool takes_queue_offset(std::int32_t flags) {
  const std::int32_t transaction = flags & kTransactionMask;
  return transaction == 0 || transaction == kTransactionCommit;
}
}  // namespace sys_flag

// Names of properties on which the store acts (org.apache.rocketmq.common.message.MessageConst).
namespace property {
inline constexpr std::string_view kTags = "TAGS";
inline constexpr std::string_view kKeys = "KEYS";
inline constexpr std::string_view kUniqueKey = "UNIQ_KEY";
inline constexpr std::string_view kWait = "WAIT";  // "false": acknowledge from memory
inline constexpr std::string_view kDelayLevel = "DELAY";
inline constexpr std::string_view kRealTopic = "REAL_TOPIC";
inline constexpr std::string_view kRealQueueId = "REAL_QID";
inline constexpr std::string_view kRecordCrc =
    "__CRC32#";  // written by us, never taken from callers
}  // namespace property

// An IPv4 or IPv6 address and port.
struct KEROLOX_API Host {
  std::array<std::byte, 16> address{};  // network order; IPv4 uses the first four
  bool v6 = false;
  std::int32_t port = 0;

  // "1.2.3.4:10911" or "[2001:db8::1]:10911". Errors: kInvalidArgument.
  static Result<Host> parse(std::string_view text);
  // The same, with IPv6 in Java's long form: "[2001:db8:0:0:0:0:0:1]:10911".
  std::string text() const;

  friend bool operator==(const Host&, const Host&) = default;
};

// 127.0.0.1:0
KEROLOX_API Host loopback_host();

struct Property {
  std::string_view name;   // not empty, without 0x01 and 0x02
  std::string_view value;  // not empty, without 0x02
};

inline constexpr std::int64_t kBodyBytesMaxDefault = std::int64_t{4} << 20;
inline constexpr std::size_t kTopicBytesMaxV1 = 127;  // one signed length byte
inline constexpr std::size_t kTopicBytesMax = 255;    // only names that begin with "%RETRY%" or
                                                      // "%DLQ%" may be longer than kTopicBytesMaxV1
inline constexpr std::size_t kPropertiesBytesMax = 32767;

// Every member has an initialiser, so that designated ones may leave out any without a warning.
struct Message {
  std::string_view topic{};
  QueueId queue{};
  std::string_view tags{};            // the property TAGS, if not empty
  std::string_view keys{};            // the property KEYS (separated by spaces), if not empty
  std::span<const std::byte> body{};  // as to be stored; compress it before, and say so in sys_flag
  std::span<const Property> properties{};  // further ones, in the order to be stored

  // Already encoded properties (name 0x01 value 0x02 ...), stored verbatim, malformed items
  // included, except that a `__CRC32#` in it is dropped and that a missing final 0x02 is added
  // before our own
  // `__CRC32#`. `tags`, `keys` and `properties` must be empty then.
  std::string_view encoded_properties{};

  std::int32_t flag = 0;               // the application's own
  std::int32_t sys_flag = 0;           // the IPv6 bits are set by us
  std::int64_t born_timestamp_ms = 0;  // 0: the store time
  std::optional<Host> born_host{};     // nothing: the log's own host
  std::optional<Host> store_host{};    // nothing: the log's own host
  std::int32_t reconsume_times = 0;
  PhysicalOffset prepared_transaction_offset{};
};

// A stored record, read in place. Valid as long as the ReadBatch (or buffer) that it came from.
// Fields that every reader wants are decoded already; properties are looked up on demand.
class KEROLOX_API MessageView {
 public:
  std::string_view topic;
  QueueId queue;
  QueueOffset queue_offset;
  PhysicalOffset offset;  // of the record's first byte, as stored in it
  std::int32_t record_bytes = 0;
  std::int32_t version = 1;    // 1, or 2 with a two-byte topic length
  std::uint32_t body_crc = 0;  // as stored: 31 bits
  std::int32_t flag = 0;
  std::int32_t sys_flag = 0;
  std::int64_t born_timestamp_ms = 0;
  std::int64_t store_timestamp_ms = 0;
  Host born_host;
  Host store_host;
  std::int32_t reconsume_times = 0;
  PhysicalOffset prepared_transaction_offset;
  std::span<const std::byte> body;
  std::string_view properties;        // as stored, `__CRC32#` included
  std::span<const std::byte> record;  // all of its bytes

  // The value of the last property of that name that is well formed, or nothing.
  std::optional<std::string_view> property(std::string_view name) const;
  std::string_view tags() const;  // empty if it has none
  std::string_view keys() const;  // empty if it has none
};

}  // namespace kerolox::storage
