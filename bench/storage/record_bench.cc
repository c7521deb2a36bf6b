// What does the codec cost per record? One thread, bodies of 128 B and 1 KiB in the cache, a topic,
// a tag, one key and a unique key; with and without the record's own checksum. No disk, no flush.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "kerolox/storage/record.h"

namespace kerolox::storage {
namespace {

constexpr std::string_view kUniqueKey = "C000020A1F9018B4AAC20A1B2C3D0001";

struct Sample {
  explicit Sample(std::size_t body_bytes) : body(body_bytes, 'b') {
    message = {.topic = "orders",
               .tags = "paid",
               .keys = "order-1001",
               .body = std::as_bytes(std::span(body)),
               .properties = properties,
               .born_timestamp_ms = 1700000000000};
  }

  std::string body;
  std::vector<Property> properties{{property::kUniqueKey, kUniqueKey}};
  Message message;
};

void encode(benchmark::State& state) {
  const Sample sample(static_cast<std::size_t>(state.range(0)));
  const bool record_crc = state.range(1) != 0;
  const Host host = loopback_host();
  RecordEncoder encoder;
  RecordPlace place{.store_timestamp_ms = 1700000000123};
  for (auto _ : state) {
    if (!encoder.prepare(sample.message, host, record_crc, {})) {
      state.SkipWithError("refused");
      break;
    }
    benchmark::DoNotOptimize(encoder.finish(place));
    place.offset.value += encoder.record_bytes();
    ++place.queue_offset.value;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(encode)->ArgNames({"body", "record_crc"})->ArgsProduct({{128, 1024}, {0, 1}});

// Enough records to leave the first-level cache, as a reader of the tail does.
std::vector<std::byte> encoded_log(std::size_t body_bytes) {
  constexpr std::size_t kLogBytes = 256 * 1024;
  const Sample sample(body_bytes);
  RecordEncoder encoder;
  std::vector<std::byte> log;
  while (log.size() < kLogBytes) {
    if (!encoder.prepare(sample.message, loopback_host(), true, {})) {
      return {};
    }
    const PhysicalOffset offset{static_cast<std::int64_t>(log.size())};
    for (const auto piece : encoder.finish({.offset = offset})) {
      log.insert(log.end(), piece.begin(), piece.end());
    }
  }
  return log;
}

void decode(benchmark::State& state) {
  const std::vector<std::byte> log = encoded_log(static_cast<std::size_t>(state.range(0)));
  const bool record_crc = state.range(1) != 0;
  std::size_t at = 0;
  for (auto _ : state) {
    const PhysicalOffset offset{static_cast<std::int64_t>(at)};
    const DecodedRecord decoded =
        decode_record(std::span(log).subspan(at),
                      {.expected_offset = offset, .body_crc = true, .record_crc = record_crc});
    if (decoded.kind != RecordKind::kRecord) {
      state.SkipWithError(decoded.fault);
      break;
    }
    benchmark::DoNotOptimize(decoded.view.body.data());
    at += static_cast<std::size_t>(decoded.bytes);
    at = at == log.size() ? 0 : at;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(decode)->ArgNames({"body", "record_crc"})->ArgsProduct({{128, 1024}, {0, 1}});

void find_tags(benchmark::State& state) {
  const std::vector<std::byte> log = encoded_log(128);
  const DecodedRecord decoded = decode_record(log, {});
  for (auto _ : state) {
    benchmark::DoNotOptimize(decoded.view.tags());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(find_tags);

}  // namespace
}  // namespace kerolox::storage
