// What a writer under test stores, and how it tells what was acknowledged.
//
// Every message can be judged by itself: its key says which run and thread wrote it, and as which
// of that thread's messages; its body is a function of the key alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "kerolox/storage/level.h"
#include "support/seeded_random.h"

namespace kerolox::crash {

inline constexpr std::string_view kTopics[] = {"orders", "events"};
inline constexpr std::int32_t kQueues = 3;

struct MessageName {
  std::int64_t run = 0;
  std::int64_t thread = 0;
  std::int64_t number = 0;  // counts from 0 in its run and thread

  std::string key() const {
    return std::to_string(run) + "." + std::to_string(thread) + "." + std::to_string(number);
  }
  static std::optional<MessageName> parse(std::string_view key);

  friend auto operator<=>(const MessageName&, const MessageName&) = default;
};

// Between 0 and twice `body_bytes`; seldom ten times as much.
inline std::string body_of(const std::string& key, std::int64_t body_bytes) {
  std::uint64_t seed = 0xcbf29ce484222325U;
  for (const char character : key) {
    seed = (seed ^ static_cast<unsigned char>(character)) * 0x100000001b3U;
  }
  SeededRandom random(seed);
  std::uint64_t bytes = random.below(static_cast<std::uint64_t>(2 * body_bytes + 1));
  if (random.chance(1, 100)) {
    bytes = static_cast<std::uint64_t>(10 * body_bytes);
  }
  std::string body(bytes, '\0');
  for (std::size_t at = 0; at < body.size();) {
    for (std::uint64_t word = random.next(), rest = 8; rest > 0 && at < body.size(); --rest) {
      body[at++] = static_cast<char>(word & 0xff);
      word >>= 8;
    }
  }
  return body;
}

inline std::optional<MessageName> MessageName::parse(std::string_view key) {
  std::int64_t parts[3] = {};
  std::size_t part = 0;
  for (const char character : key) {
    if (character == '.') {
      ++part;
    } else if (character < '0' || character > '9' || part > 2) {
      return std::nullopt;
    } else {
      parts[part] = parts[part] * 10 + (character - '0');
    }
  }
  return part == 2 ? std::optional(MessageName{parts[0], parts[1], parts[2]}) : std::nullopt;
}

// One line of the writer's report: written with a single write() to a pipe, so whole or not at all.
struct WriterReport {
  enum class Kind : std::int32_t { kOpened = 1, kAcknowledged, kFailed, kClosed };
  Kind kind = Kind::kOpened;
  std::int32_t error_code = 0;  // kFailed: an ErrorCode
  MessageName name;             // kAcknowledged: of the first message
  std::int64_t message_count = 0;
  std::int64_t offset = 0;  // kAcknowledged: of the first record; kOpened: where appends begin
  std::int64_t queue_offset = 0;
  std::int64_t record_bytes = 0;
  std::int64_t end = 0;
  storage::LocalLevel level = storage::LocalLevel::kMemory;
};
static_assert(std::is_trivially_copyable_v<WriterReport> && sizeof(WriterReport) <= 512);

}  // namespace kerolox::crash
