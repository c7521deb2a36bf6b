#include "storage/log_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kerolox/base/endian.h"
#include "storage/record_cursor.h"
#include "storage/record_format.h"

namespace kerolox::storage {
namespace {

namespace format = record_format;

constexpr std::int64_t kWindowBytes = std::int64_t{1} << 20;

// How much a first look asks for, so that 32 small records do not cost a megabyte of reading.
constexpr std::int64_t kFirstLookBytesMin = std::int64_t{64} << 10;
constexpr std::int64_t kFirstLookBytesEach = 512;

bool is_record_magic(const std::byte* at) {
  const auto magic = load_big_endian<std::uint32_t>(at);
  return magic == kMagicV1 || magic == kMagicV2;
}

// The first index in `bytes` from which a head with a record's magic, standing at its place,
// reaches; its size if there is none.
std::size_t find_head(std::span<const std::byte> bytes, PhysicalOffset place, std::size_t from) {
  constexpr int kFirstMagicByte = 0xDA;
  const std::size_t last = bytes.size() - format::kSysFlagAt;  // the last index with a whole head
  while (from <= last) {
    const void* found =
        std::memchr(bytes.data() + from + format::kMagicAt, kFirstMagicByte, last - from + 1);
    if (found == nullptr) {
      break;
    }
    const auto index =
        static_cast<std::size_t>(static_cast<const std::byte*>(found) - bytes.data()) -
        format::kMagicAt;
    const std::byte* head = bytes.data() + index;
    if (is_record_magic(head + format::kMagicAt) &&
        load_big_endian<std::int64_t>(head + format::kPhysicalOffsetAt) ==
            place.value + static_cast<std::int64_t>(index)) {
      return index;
    }
    from = index + 1;
  }
  return bytes.size();
}

}  // namespace

bool within(std::span<const OwnRange> ranges, PhysicalOffset offset, std::int64_t bytes) {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), offset,
      [](PhysicalOffset place, const OwnRange& range) { return place < range.begin; });
  return after != ranges.begin() && offset + bytes <= std::prev(after)->end;
}

Result<std::optional<PhysicalOffset>> find_record(LogBytes& bytes, PhysicalOffset from,
                                                  PhysicalOffset end, std::int64_t file_bytes) {
  const PhysicalOffset limit = std::min(end, file_end_of(from, file_bytes));
  RecordCursor candidates(bytes, file_bytes, end, {});
  std::vector<std::byte> buffer;
  std::shared_ptr<const void> pin;
  while (limit - from >= kRecordBytesMin) {
    KEROLOX_ASSIGN_OR_RETURN(
        std::span<const std::byte> window,
        bytes.bytes_at(from, std::min(kWindowBytes, limit - from), buffer, pin));
    window = window.first(std::min(window.size(), static_cast<std::size_t>(limit - from)));
    if (std::cmp_less(window.size(), kRecordBytesMin)) {
      break;
    }
    for (std::size_t index = find_head(window, from, 0); index < window.size();
         index = find_head(window, from, index + 1)) {
      const PhysicalOffset place = from + static_cast<std::int64_t>(index);
      KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord decoded, candidates.at(place));
      if (decoded.kind == RecordKind::kRecord) {
        return std::optional(place);
      }
    }
    from = from + static_cast<std::int64_t>(window.size() - format::kSysFlagAt + 1);
  }
  return std::optional<PhysicalOffset>();
}

Result<bool> record_begins_at(LogBytes& bytes, PhysicalOffset offset, const LogReadLimits& limits) {
  RecordCursor cursor(bytes, limits.file_bytes, limits.end, limits.own_ranges);
  PhysicalOffset place =
      std::max(limits.min, file_end_of(offset, limits.file_bytes) - limits.file_bytes);
  while (place < offset) {
    KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord decoded, cursor.at(place));
    if (decoded.kind == RecordKind::kBlank) {
      return false;  // what it leaves unused is no record
    }
    if (decoded.kind == RecordKind::kRecord) {
      place = place + decoded.bytes;
    } else {
      KEROLOX_ASSIGN_OR_RETURN(place, skip_damage(bytes, place, limits.end, limits.file_bytes));
    }
  }
  return place == offset;
}

void ReadBatch::clear() {
  views_.clear();
  damaged_.clear();
  pins_.clear();
  next_offset_ = {};
}

// One read(): fills the batch from one stretch of memory, so that views stay valid.
class LogReader::Filling {
 public:
  Filling(LogBytes& bytes, const LogReadLimits& limits, ReadBatch& batch)
      : bytes_(bytes), limits_(limits), batch_(batch) {}

  // Fills from next_offset_ to the end of its file, until a limit is reached or damage is met.
  Result<void> fill();
  // Lists the damage at next_offset_ and goes behind it.
  Result<void> list_damage();
  // What stands at next_offset_, where fill() stopped without a record, breaks this rule; or null.
  const char* fault() const { return fault_; }

 private:
  // Decodes what `bytes` holds. Returns how many bytes it lacks to go on, counted from its begin;
  // 0 if no more are wanted.
  std::int64_t decode(std::span<const std::byte> bytes, PhysicalOffset begin);
  bool full(std::int64_t record_bytes) const {
    return !batch_.views_.empty() && taken_ + record_bytes > limits_.bytes_max;
  }

  LogBytes& bytes_;
  const LogReadLimits& limits_;
  ReadBatch& batch_;
  std::int64_t taken_ = 0;  // bytes of the records in the batch
  const char* fault_ = nullptr;
};

Result<void> LogReader::Filling::fill() {
  const PhysicalOffset begin = batch_.next_offset_;
  const std::int64_t reach = std::min(limits_.end, file_end_of(begin, limits_.file_bytes)) - begin;
  std::int64_t wanted =
      std::min({reach, std::max(limits_.bytes_max, kFirstLookBytesMin),
                std::max(kFirstLookBytesMin, limits_.count_max * kFirstLookBytesEach)});
  std::shared_ptr<const void> pin;
  for (;;) {
    KEROLOX_ASSIGN_OR_RETURN(std::span<const std::byte> bytes,
                             bytes_.bytes_at(begin, wanted, batch_.buffer_, pin));
    if (bytes.empty()) {
      fault_ = "there is no log file";
      return {};
    }
    bytes = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(reach)));
    const std::int64_t lacking = decode(bytes, begin);
    if (lacking == 0 ||
        (!batch_.views_.empty() && std::cmp_greater_equal(bytes.size(), limits_.bytes_max))) {
      break;
    }
    if (std::cmp_less(bytes.size(), wanted)) {
      return Error(ErrorCode::kIoError, "the log file has become shorter while it was read")
          .with_number("physical_offset", begin.value);
    }
    if (batch_.views_.empty() && lacking > kWindowBytes) {
      // Memory for a large record only once both of its ends say that it is one.
      RecordCursor cursor(bytes_, limits_.file_bytes, limits_.end, limits_.own_ranges);
      KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord large, cursor.at(begin));
      if (large.kind != RecordKind::kRecord) {
        fault_ = large.fault;
        return {};
      }
    }
    // Nothing points into the buffer any more when it grows.
    batch_.views_.clear();
    taken_ = 0;
    batch_.next_offset_ = begin;
    wanted = std::min(reach, std::max(limits_.bytes_max, lacking));
  }
  if (!batch_.views_.empty() && pin != nullptr) {
    batch_.pins_.push_back(std::move(pin));
  }
  return {};
}

std::int64_t LogReader::Filling::decode(std::span<const std::byte> bytes, PhysicalOffset begin) {
  const PhysicalOffset file_end = file_end_of(begin, limits_.file_bytes);
  const bool all_own = within(limits_.own_ranges, begin, static_cast<std::int64_t>(bytes.size()));
  while (std::cmp_less(batch_.views_.size(), limits_.count_max) &&
         batch_.next_offset_ < limits_.end) {
    const PhysicalOffset place = batch_.next_offset_;
    const std::span<const std::byte> left = bytes.subspan(static_cast<std::size_t>(place - begin));
    if (left.size() < format::kHeadBytes) {
      if (std::min(file_end, limits_.end) - place >= kBlankBytesMin) {
        return place - begin + kBlankBytesMin;
      }
      fault_ = "there is no room for a record or a blank";
      return 0;
    }
    const bool own =
        all_own || within(limits_.own_ranges, place, load_big_endian<std::int32_t>(left.data()));
    const DecodedRecord decoded = decode_at(left, place, file_end - place, own);
    if (decoded.kind == RecordKind::kBlank) {
      batch_.next_offset_ = std::min(file_end, limits_.end);
      return 0;
    }
    const bool record =
        decoded.kind == RecordKind::kRecord || decoded.kind == RecordKind::kIncomplete;
    if (!record || place + decoded.bytes > limits_.end) {
      fault_ = decoded.kind == RecordKind::kZero ? "zeros where a record was"
               : record                          ? "it says that it reaches behind the log's end"
                                                 : decoded.fault;
      return 0;
    }
    if (full(decoded.bytes)) {
      return 0;
    }
    if (decoded.kind == RecordKind::kIncomplete) {
      return place - begin + decoded.bytes;
    }
    batch_.views_.push_back(decoded.view);
    taken_ += decoded.bytes;
    batch_.next_offset_ = place + decoded.bytes;
  }
  return 0;
}

Result<void> LogReader::Filling::list_damage() {
  const PhysicalOffset begin = batch_.next_offset_;
  KEROLOX_ASSIGN_OR_RETURN(const PhysicalOffset next,
                           skip_damage(bytes_, begin, limits_.end, limits_.file_bytes));
  batch_.damaged_.push_back({begin, next - begin, fault_});
  batch_.next_offset_ = next;
  fault_ = nullptr;
  return {};
}

Result<void> LogReader::read(LogBytes& bytes, PhysicalOffset offset, const LogReadLimits& limits,
                             ReadBatch& batch) {
  batch.clear();
  batch.next_offset_ = offset;
  if (offset < limits.min || offset > limits.end) {
    return Error(ErrorCode::kOutOfRange, "no record of the log is there")
        .with_number("physical_offset", offset.value)
        .with_number("min_offset", limits.min.value)
        .with_number("end", limits.end.value);
  }
  if (limits.count_max <= 0) {
    return {};
  }
  Filling filling(bytes, limits, batch);
  while (batch.empty() && batch.next_offset_ < limits.end) {
    KEROLOX_RETURN_IF_ERROR(filling.fill());
    if (batch.empty() && filling.fault() != nullptr) {
      KEROLOX_RETURN_IF_ERROR(filling.list_damage());
    }
  }
  return {};
}

void LogReader::trim(ReadBatch& batch, PhysicalOffset begin, PhysicalOffset end) {
  PhysicalOffset kept_to = begin;
  std::erase_if(batch.views_,
                [end](const MessageView& view) { return view.offset + view.record_bytes > end; });
  std::erase_if(batch.damaged_,
                [end](const DamagedRange& range) { return range.offset + range.bytes > end; });
  if (batch.next_offset_ <= end) {
    return;
  }
  if (!batch.damaged_.empty()) {
    kept_to = std::max(kept_to, batch.damaged_.back().offset + batch.damaged_.back().bytes);
  }
  if (!batch.views_.empty()) {
    kept_to = std::max(kept_to, batch.views_.back().offset + batch.views_.back().record_bytes);
  }
  batch.next_offset_ = kept_to;
}

}  // namespace kerolox::storage
