// Any bytes: a decoded record lies within them, adds up, and is encoded back to the same bytes.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "kerolox/base/check.h"
#include "kerolox/base/endian.h"
#include "kerolox/storage/properties.h"
#include "kerolox/storage/record.h"

namespace kerolox::storage {
namespace {

bool lies_within(std::span<const std::byte> outer, const void* data, std::size_t size) {
  const auto* const begin = static_cast<const std::byte*>(data);
  return begin >= outer.data() && begin + size <= outer.data() + outer.size();
}

void check_parts(std::span<const std::byte> bytes, const DecodedRecord& decoded) {
  const MessageView& view = decoded.view;
  KEROLOX_CHECK(decoded.bytes >= kRecordBytesMin);
  KEROLOX_CHECK(view.record.data() == bytes.data());
  KEROLOX_CHECK(view.record.size() == static_cast<std::size_t>(decoded.bytes));
  KEROLOX_CHECK(lies_within(view.record, view.body.data(), view.body.size()));
  KEROLOX_CHECK(lies_within(view.record, view.topic.data(), view.topic.size()));
  KEROLOX_CHECK(lies_within(view.record, view.properties.data(), view.properties.size()));
  const std::size_t hosts = (view.born_host.v6 ? 12U : 0U) + (view.store_host.v6 ? 12U : 0U);
  KEROLOX_CHECK(view.record.size() == 90 + static_cast<std::size_t>(view.version) + hosts +
                                          view.body.size() + view.topic.size() +
                                          view.properties.size());
}

// Only what we would write ourselves comes back as it was: a foreign record may hold a `__CRC32#`
// that we drop, a checksum that nobody checks, or a V2 record for a short topic.
void check_encoded_back(const MessageView& view) {
  const Message message{.topic = view.topic,
                        .queue = view.queue,
                        .body = view.body,
                        .encoded_properties = view.properties,
                        .flag = view.flag,
                        .sys_flag = view.sys_flag,
                        .born_timestamp_ms = view.born_timestamp_ms,
                        .born_host = view.born_host,
                        .store_host = view.store_host,
                        .reconsume_times = view.reconsume_times,
                        .prepared_transaction_offset = view.prepared_transaction_offset};
  RecordEncoder encoder;
  const bool record_crc = record_crc_matches(view.record);
  if (!encoder.prepare(message, loopback_host(), record_crc, {.allow_long_topics = true})) {
    return;
  }
  std::vector<std::byte> encoded;
  for (const auto piece : encoder.finish({.offset = view.offset,
                                          .queue_offset = view.queue_offset,
                                          .store_timestamp_ms = view.store_timestamp_ms})) {
    encoded.insert(encoded.end(), piece.begin(), piece.end());
  }
  const DecodedRecord back = decode_record(
      encoded, {.expected_offset = view.offset, .body_crc = true, .record_crc = record_crc});
  KEROLOX_CHECK(back.kind == RecordKind::kRecord);
  KEROLOX_CHECK(back.view.topic == view.topic);
  KEROLOX_CHECK(back.view.tags() == view.tags());
  const bool is_ours = view.properties.find(property::kRecordCrc) == std::string_view::npos &&
                       view.version == (view.topic.size() > kTopicBytesMaxV1 ? 2 : 1) &&
                       (!view.body.empty() || view.body_crc == 0) && view.born_timestamp_ms != 0 &&
                       (encoder.takes_queue_offset() || view.queue_offset.value == 0);
  KEROLOX_CHECK(!is_ours || std::ranges::equal(encoded, view.record));
}

void fuzz(std::span<const std::byte> bytes) {
  for (const bool checked : {true, false}) {
    const DecodedRecord decoded =
        decode_record(bytes, {.body_crc = checked, .record_crc = checked});
    const DecodedRecord head = decode_head(bytes);
    KEROLOX_CHECK(decoded.kind == RecordKind::kInvalid || decoded.kind == head.kind);
    KEROLOX_CHECK((decoded.kind == RecordKind::kInvalid) == (decoded.fault[0] != '\0'));
    if (decoded.kind == RecordKind::kIncomplete) {
      KEROLOX_CHECK(decoded.bytes > static_cast<std::int64_t>(bytes.size()));
    }
    if (decoded.kind == RecordKind::kRecord) {
      check_parts(bytes, decoded);
      if (checked) {
        check_encoded_back(decoded.view);
      }
    }
  }
}

}  // namespace
}  // namespace kerolox::storage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kerolox::storage::fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}

// The fuzzer cannot guess a checksum: mostly it gets the right one for the body at hand. (Weak,
// since the program that only replays a corpus does not mutate.)
extern "C" __attribute__((weak)) std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                                              std::size_t size_max);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  using namespace kerolox::storage;
  size = LLVMFuzzerMutate(data, size, size_max);
  const auto bytes = std::as_writable_bytes(std::span(data, size));
  const DecodedRecord decoded = decode_record(bytes, {.body_crc = false});
  if (seed % 4 != 0 && decoded.kind == RecordKind::kRecord) {
    kerolox::store_big_endian(bytes.data() + 8, crc31(decoded.view.body));
  }
  return size;
}
