#include "storage/log_scanner.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "kerolox/base/endian.h"
#include "storage/hash.h"
#include "storage/record_cursor.h"
#include "storage/record_format.h"

namespace kerolox::storage {
namespace {

class Scanner {
 public:
  Scanner(const LogLayout& layout, LogBytes& bytes, const ScanRules& rules, QueueTable& queues)
      : layout_(layout),
        bytes_(bytes),
        rules_(rules),
        queues_(queues),
        cursor_(bytes, layout.file_bytes, rules.end, rules.own_ranges) {}

  Result<ScanResult> run();

 private:
  // Each returns whether the scan goes on; if not, the result is complete.
  Result<bool> step();
  Result<DecodedRecord> torn_or_whole(std::int64_t record_bytes);
  void take(const DecodedRecord& record);
  bool cross_blank();
  Result<bool> meet_invalid(const DecodedRecord& invalid);
  // Where the log goes on if the invalid record at the current place is rot.
  Result<std::optional<PhysicalOffset>> behind_rot();
  Result<std::optional<PhysicalOffset>> behind_known_damage();
  Result<std::optional<PhysicalOffset>> behind_rot_by_time();
  Result<LogEnd> classify_end();
  bool is_last(PhysicalOffset place) const {
    return place >= layout_.files.back().base + layout_.file_bytes;
  }

  const LogLayout& layout_;
  LogBytes& bytes_;
  const ScanRules& rules_;
  QueueTable& queues_;
  RecordCursor cursor_;
  ScanResult result_;
  std::int64_t previous_timestamp_ms_ = 0;  // of the record in front of the current place
  bool after_blank_ = false;                // the current place is a file's begin behind one
};

Result<ScanResult> Scanner::run() {
  result_.end = rules_.from;
  if (layout_.files.empty()) {
    result_.end_kind = LogEnd::kEmpty;
    return std::move(result_);
  }
  while (result_.end < rules_.end) {
    KEROLOX_ASSIGN_OR_RETURN(const bool more, step());
    if (!more) {
      return std::move(result_);
    }
  }
  return std::move(result_);
}

Result<bool> Scanner::step() {
  KEROLOX_ASSIGN_OR_RETURN(DecodedRecord found, cursor_.at(result_.end));
  if (found.kind == RecordKind::kRecord && !found.view.properties.empty() &&
      found.view.properties.back() == '\0') {
    KEROLOX_ASSIGN_OR_RETURN(found, torn_or_whole(found.bytes));
  }
  if (found.kind == RecordKind::kRecord) {
    take(found);
    return true;
  }
  if (found.kind == RecordKind::kBlank) {
    return cross_blank();
  }
  return meet_invalid(found);
}

// A record that came raw is held to its body's checksum alone, so that one whose last properties
// have not come yet looks whole, with zeros for them. Nothing stands behind such a one.
Result<DecodedRecord> Scanner::torn_or_whole(std::int64_t record_bytes) {
  const PhysicalOffset behind = result_.end + record_bytes;
  KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord next, cursor_.at(behind));
  if (next.kind == RecordKind::kZero) {
    DecodedRecord torn;
    torn.fault = "its last bytes were never written";
    return torn;
  }
  return cursor_.at(result_.end);
}

void Scanner::take(const DecodedRecord& record) {
  const std::uint64_t hash = xxh3_64(record.view.record);
  result_.last_record = result_.end;
  result_.last_record_hash = hash;
  result_.digest = (std::rotl(result_.digest, 7) ^ hash) * 0x9E3779B97F4A7C15U;
  result_.end = result_.end + record.bytes;
  previous_timestamp_ms_ = record.view.store_timestamp_ms;
  result_.last_store_timestamp_ms =
      std::max(result_.last_store_timestamp_ms, previous_timestamp_ms_);
  ++result_.records;
  result_.records_v2 += record.view.version == 2 ? 1 : 0;
  after_blank_ = false;
  queues_.add(record.view);
}

bool Scanner::cross_blank() {
  const PhysicalOffset next = file_end_of(result_.end, layout_.file_bytes);
  if (layout_.file_of(next) == nullptr) {
    result_.end_kind = is_last(next) ? LogEnd::kAfterBlank : LogEnd::kMissingFile;
    return false;
  }
  if (next > rules_.end) {  // a truncation into the blank's file
    return false;
  }
  result_.end = next;
  result_.last_record = PhysicalOffset{-1};
  result_.last_record_hash = 0;
  after_blank_ = true;
  if (rules_.progress) {
    rules_.progress(next);
  }
  return true;
}

Result<bool> Scanner::meet_invalid(const DecodedRecord& invalid) {
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<PhysicalOffset> next, behind_rot());
  if (!next) {
    KEROLOX_ASSIGN_OR_RETURN(result_.end_kind, classify_end());
    return false;
  }
  const char* fault =
      invalid.kind == RecordKind::kZero ? "zeros where a record was" : invalid.fault;
  result_.damaged.push_back({result_.end, *next - result_.end, fault});
  result_.end = *next;
  result_.last_record = PhysicalOffset{-1};
  result_.last_record_hash = 0;
  after_blank_ = false;
  return true;
}

Result<std::optional<PhysicalOffset>> Scanner::behind_rot() {
  if (result_.end < rules_.rot_below) {
    KEROLOX_ASSIGN_OR_RETURN(
        const PhysicalOffset next,
        skip_damage(bytes_, result_.end, std::min(rules_.end, rules_.rot_below),
                    layout_.file_bytes));
    return std::optional(next);
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<PhysicalOffset> known, behind_known_damage());
  if (known) {
    return known;
  }
  return behind_rot_by_time();
}

Result<std::optional<PhysicalOffset>> Scanner::behind_known_damage() {
  for (const DamagedRange& known : rules_.known_damage) {
    const PhysicalOffset next = known.offset + known.bytes;
    if (known.offset != result_.end || known.bytes <= 0 || next >= rules_.end) {
      continue;
    }
    KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord behind, cursor_.at(next));
    if (behind.kind == RecordKind::kBlank ||
        (behind.kind == RecordKind::kRecord &&
         behind.view.store_timestamp_ms >= previous_timestamp_ms_)) {
      return std::optional(next);
    }
  }
  return std::optional<PhysicalOffset>();
}

Result<std::optional<PhysicalOffset>> Scanner::behind_rot_by_time() {
  const std::optional<PhysicalOffset> none;
  if (!rules_.rot_until_ms || previous_timestamp_ms_ > *rules_.rot_until_ms) {
    return none;
  }
  PhysicalOffset place = result_.end;
  while (place < rules_.end && layout_.file_of(place) != nullptr) {
    KEROLOX_ASSIGN_OR_RETURN(place, skip_damage(bytes_, place, rules_.end, layout_.file_bytes));
    if (place >= rules_.end || layout_.file_of(place) == nullptr) {
      return none;
    }
    KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord behind, cursor_.at(place));
    if (behind.kind == RecordKind::kRecord) {
      const std::int64_t stored_ms = behind.view.store_timestamp_ms;
      return stored_ms <= *rules_.rot_until_ms && stored_ms >= previous_timestamp_ms_
                 ? std::optional(place)
                 : none;
    }
    if (behind.kind == RecordKind::kBlank) {
      place = file_end_of(place, layout_.file_bytes);
    }
  }
  return none;
}

// Only what the bytes at the end are. Whether anything stands behind zeros is for the caller.
Result<LogEnd> Scanner::classify_end() {
  const PhysicalOffset place = result_.end;
  KEROLOX_ASSIGN_OR_RETURN(std::span<const std::byte> bytes, cursor_.bytes_at(place, 8));
  DecodedRecord head = decode_head(bytes);
  if (head.kind == RecordKind::kZero) {
    return after_blank_ ? LogEnd::kAfterBlank : LogEnd::kZeros;
  }
  if (head.kind == RecordKind::kRecord || head.kind == RecordKind::kIncomplete) {
    if (head.bytes <= std::int64_t{1} << 20) {
      KEROLOX_ASSIGN_OR_RETURN(bytes, cursor_.bytes_at(place, head.bytes));
      head = decode_record(bytes, {});
      if (head.kind == RecordKind::kRecord && head.view.offset != place) {
        return LogEnd::kStaleRecord;
      }
    }
    return LogEnd::kTornRecord;
  }
  if (bytes.size() >= record_format::kHeadBytes) {
    const auto magic = load_big_endian<std::uint32_t>(bytes.data() + record_format::kMagicAt);
    if (magic == kMagicV1 || magic == kMagicV2) {
      return LogEnd::kTornRecord;
    }
  }
  return LogEnd::kForeignBytes;
}

}  // namespace

Result<ScanResult> scan_log(const LogLayout& layout, LogBytes& bytes, const ScanRules& rules,
                            QueueTable& queues) {
  return Scanner(layout, bytes, rules, queues).run();
}

}  // namespace kerolox::storage
