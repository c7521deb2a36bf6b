#include "storage/checkpoint_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "kerolox/base/check.h"
#include "kerolox/base/endian.h"
#include "storage/hash.h"

namespace kerolox::storage {
namespace {

constexpr std::string_view kMagic = "KRLXCKPT";
constexpr std::size_t kHashAt = 8;
constexpr std::size_t kHashedFrom = 16;

constexpr std::uint32_t kFlagClean = 1;
constexpr std::uint32_t kFlagV2Records = 2;
constexpr std::uint32_t kFlagCutTo = 4;
constexpr std::uint32_t kFlags = kFlagClean | kFlagV2Records | kFlagCutTo;

constexpr std::size_t kFixedBytes = 132;  // head, numbers, counts
constexpr std::size_t kTextBytesMax = std::numeric_limits<std::uint16_t>::max();
constexpr std::size_t kOwnRangeBytes = 16;
constexpr std::size_t kDamagedRangeBytesMin = 18;
constexpr std::size_t kQueueOffsetBytesMin = 14;

bool in_order(const Checkpoint& checkpoint) {
  if (checkpoint.file_bytes < 0 || checkpoint.min_offset.value < 0 ||
      checkpoint.synced < checkpoint.min_offset || checkpoint.written_limit < checkpoint.synced ||
      checkpoint.last_record.value < -1 || (checkpoint.cut_to && checkpoint.cut_to->value < 0)) {
    return false;
  }
  std::int64_t covered = 0;
  for (const OwnRange& range : checkpoint.own_ranges) {
    if (range.begin.value < covered || range.end < range.begin) {
      return false;
    }
    covered = range.end.value;
  }
  return std::ranges::all_of(checkpoint.quarantine, [](const DamagedRange& range) {
    return range.offset.value >= 0 && range.bytes >= 0;
  });
}

std::size_t encoded_bytes(const Checkpoint& checkpoint) {
  std::size_t bytes =
      kFixedBytes + 2 + checkpoint.boot_id.size() + kOwnRangeBytes * checkpoint.own_ranges.size();
  for (const DamagedRange& range : checkpoint.quarantine) {
    bytes += kDamagedRangeBytesMin + std::min(range.fault.size(), kTextBytesMax);
  }
  for (const NextQueueOffset& entry : checkpoint.queue_offsets) {
    bytes += kQueueOffsetBytesMin + entry.topic.size();
  }
  return bytes;
}

// Writes into a buffer that has been sized before: no check in the loop over the queues.
class Writer {
 public:
  explicit Writer(std::byte* to) : to_(to) {}

  template <typename T>
  void number(T value) {
    store_big_endian(to_, value);
    to_ += sizeof value;
  }
  void count(std::size_t value) {
    KEROLOX_CHECK(value <= std::numeric_limits<std::uint32_t>::max());
    number(static_cast<std::uint32_t>(value));
  }
  void text(std::string_view text) {
    KEROLOX_CHECK(text.size() <= kTextBytesMax);
    number(static_cast<std::uint16_t>(text.size()));
    raw(text);
  }
  void raw(std::string_view bytes) {
    std::memcpy(to_, bytes.data(), bytes.size());
    to_ += bytes.size();
  }
  const std::byte* position() const { return to_; }

 private:
  std::byte* to_;
};

// Reads until the bytes run out, then yields zeros and remembers it.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    if (bytes_.size() < sizeof(T)) {
      failed_ = true;
      return T{};
    }
    const T value = load_big_endian<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }
  PhysicalOffset offset() { return PhysicalOffset{number<std::int64_t>()}; }
  // A count of things of at least `each_bytes_min`, believed only if they fit.
  std::size_t count(std::size_t each_bytes_min) {
    const std::size_t value = number<std::uint32_t>();
    pending_bytes_ += value * each_bytes_min;
    return value;
  }
  bool counts_fit() {
    failed_ = failed_ || pending_bytes_ > bytes_.size();
    return !failed_;
  }
  std::string text() {
    const std::size_t size = number<std::uint16_t>();
    if (bytes_.size() < size) {
      failed_ = true;
      return {};
    }
    std::string value(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return value;
  }
  bool failed() const { return failed_; }
  bool finished() const { return !failed_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t pending_bytes_ = 0;
  bool failed_ = false;
};

void write_body(const Checkpoint& checkpoint, Writer& writer) {
  writer.number(checkpoint.file_bytes);
  writer.number(checkpoint.synced.value);
  writer.number(checkpoint.written_limit.value);
  writer.number(checkpoint.last_record.value);
  writer.number(checkpoint.last_record_hash);
  writer.number(checkpoint.last_store_timestamp_ms);
  writer.number(checkpoint.cut_to.value_or(PhysicalOffset{0}).value);
  writer.number(checkpoint.java_checkpoint_hash);
  writer.number(checkpoint.abort_pid);
  writer.number(checkpoint.min_offset.value);
  writer.count(checkpoint.own_ranges.size());
  writer.count(checkpoint.quarantine.size());
  writer.count(checkpoint.queue_offsets.size());
  writer.text(checkpoint.boot_id);
  for (const OwnRange& range : checkpoint.own_ranges) {
    writer.number(range.begin.value);
    writer.number(range.end.value);
  }
  for (const DamagedRange& range : checkpoint.quarantine) {
    writer.number(range.offset.value);
    writer.number(range.bytes);
    writer.text(std::string_view(range.fault).substr(0, kTextBytesMax));
  }
  for (const NextQueueOffset& entry : checkpoint.queue_offsets) {
    writer.text(entry.topic);
    writer.number(entry.queue.value);
    writer.number(entry.next.value);
  }
}

void read_lists(Reader& reader, Checkpoint& checkpoint) {
  const std::size_t own_ranges = reader.count(kOwnRangeBytes);
  const std::size_t damaged_ranges = reader.count(kDamagedRangeBytesMin);
  const std::size_t queues = reader.count(kQueueOffsetBytesMin);
  if (!reader.counts_fit()) {
    return;
  }
  checkpoint.boot_id = reader.text();
  checkpoint.own_ranges.reserve(own_ranges);
  for (std::size_t i = 0; i < own_ranges && !reader.failed(); ++i) {
    const PhysicalOffset begin = reader.offset();
    checkpoint.own_ranges.push_back({.begin = begin, .end = reader.offset()});
  }
  checkpoint.quarantine.reserve(damaged_ranges);
  for (std::size_t i = 0; i < damaged_ranges && !reader.failed(); ++i) {
    DamagedRange& range = checkpoint.quarantine.emplace_back();
    range.offset = reader.offset();
    range.bytes = reader.number<std::int64_t>();
    range.fault = reader.text();
  }
  checkpoint.queue_offsets.reserve(queues);
  for (std::size_t i = 0; i < queues && !reader.failed(); ++i) {
    NextQueueOffset& entry = checkpoint.queue_offsets.emplace_back();
    entry.topic = reader.text();
    entry.queue.value = reader.number<std::int32_t>();
    entry.next.value = reader.number<std::int64_t>();
  }
}

bool read_body(Reader& reader, std::uint32_t flags, Checkpoint& checkpoint) {
  checkpoint.file_bytes = reader.number<std::int64_t>();
  checkpoint.synced = reader.offset();
  checkpoint.written_limit = reader.offset();
  checkpoint.last_record = reader.offset();
  checkpoint.last_record_hash = reader.number<std::uint64_t>();
  checkpoint.last_store_timestamp_ms = reader.number<std::int64_t>();
  const PhysicalOffset cut_to = reader.offset();
  if ((flags & kFlagCutTo) != 0) {
    checkpoint.cut_to = cut_to;
  }
  checkpoint.java_checkpoint_hash = reader.number<std::uint64_t>();
  checkpoint.abort_pid = reader.number<std::int64_t>();
  checkpoint.min_offset = reader.offset();
  checkpoint.clean = (flags & kFlagClean) != 0;
  checkpoint.has_v2_records = (flags & kFlagV2Records) != 0;
  read_lists(reader, checkpoint);
  return reader.finished() && in_order(checkpoint);
}

bool has_magic(std::span<const std::byte> bytes) {
  return std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

}  // namespace

void encode_checkpoint(const Checkpoint& checkpoint, std::uint64_t sequence,
                       std::vector<std::byte>& into) {
  KEROLOX_CHECK(in_order(checkpoint));
  into.resize(encoded_bytes(checkpoint));
  Writer writer(into.data());
  writer.raw(kMagic);
  writer.number(std::uint64_t{0});  // the hash, patched in below
  writer.number(kCheckpointVersion);
  writer.number((checkpoint.clean ? kFlagClean : 0) |
                (checkpoint.has_v2_records ? kFlagV2Records : 0) |
                (checkpoint.cut_to ? kFlagCutTo : 0));
  writer.number(sequence);
  writer.number(static_cast<std::int64_t>(into.size()));
  write_body(checkpoint, writer);
  KEROLOX_CHECK(writer.position() == into.data() + into.size());
  store_big_endian(into.data() + kHashAt, xxh3_64(std::span(into).subspan(kHashedFrom)));
}

std::optional<std::size_t> claimed_checkpoint_bytes(std::span<const std::byte> head,
                                                    std::int64_t file_bytes) {
  if (head.size() < kCheckpointHeadBytes || !has_magic(head)) {
    return std::nullopt;
  }
  const auto claimed = load_big_endian<std::int64_t>(head.data() + 32);
  if (claimed < static_cast<std::int64_t>(kCheckpointHeadBytes) || claimed > file_bytes ||
      claimed > kCheckpointBytesMax) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(claimed);
}

DecodedCheckpoint decode_checkpoint(std::span<const std::byte> bytes) {
  DecodedCheckpoint decoded;
  const auto head = bytes.first(std::min(bytes.size(), kCheckpointHeadBytes));
  if (std::ranges::all_of(head, [](std::byte byte) { return byte == std::byte{0}; })) {
    decoded.state = CheckpointState::kAbsent;
    return decoded;
  }
  const auto claimed = claimed_checkpoint_bytes(head, static_cast<std::int64_t>(bytes.size()));
  if (!claimed) {
    return decoded;
  }
  const auto content = bytes.first(*claimed);
  if (load_big_endian<std::uint64_t>(content.data() + kHashAt) !=
      xxh3_64(content.subspan(kHashedFrom))) {
    return decoded;
  }
  decoded.version = load_big_endian<std::uint32_t>(content.data() + 16);
  const auto flags = load_big_endian<std::uint32_t>(content.data() + 20);
  decoded.sequence = load_big_endian<std::uint64_t>(content.data() + 24);
  if (decoded.version > kCheckpointVersion) {
    decoded.state = CheckpointState::kNewer;
    return decoded;
  }
  Reader reader(content.subspan(kCheckpointHeadBytes));
  if (decoded.version == kCheckpointVersion && (flags & ~kFlags) == 0 && decoded.sequence > 0 &&
      decoded.sequence < std::numeric_limits<std::uint64_t>::max() &&
      read_body(reader, flags, decoded.checkpoint)) {
    decoded.state = CheckpointState::kValid;
  }
  return decoded;
}

}  // namespace kerolox::storage
