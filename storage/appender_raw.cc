// The slave's way into the log: bytes that another log holds at the same offset.
#include <algorithm>
#include <utility>
#include <vector>

#include "kerolox/base/check.h"
#include "storage/appender.h"

namespace kerolox::storage {

// What the bytes of one call complete.
struct Appender::RawRecords {
  PhysicalOffset records_end;
  PhysicalOffset last_record{-1};
  std::int32_t last_record_bytes = 0;
  std::int64_t last_store_timestamp_ms = 0;
  bool has_v2_records = false;
  struct Queue {
    QueueOffsetTable::Key key;
    QueueOffset next;
  };
  std::vector<Queue> queues;      // keys point into `joined`
  std::vector<std::byte> joined;  // a part that was there before, and the new bytes
};

Result<Appender::RawRecords> Appender::check_raw(std::span<const std::byte> bytes) {
  RawRecords found;
  found.records_end = records_end_;
  found.last_record = last_record_;
  found.last_record_bytes = last_record_bytes_;
  found.last_store_timestamp_ms = last_store_timestamp_ms_;
  found.has_v2_records = has_v2_records_;
  std::int64_t skip = 0;
  const auto part_bytes = static_cast<std::size_t>(reserved_ - records_end_);
  if (part_bytes > 0) {
    found.joined.resize(part_bytes);
    const PinnedBytes part = files_.active()->pin(records_end_ - files_.active()->base(),
                                                  static_cast<std::int64_t>(part_bytes));
    KEROLOX_CHECK(part.bytes.size() == part_bytes);
    std::copy(part.bytes.begin(), part.bytes.end(), found.joined.begin());
  }
  found.joined.insert(found.joined.end(), bytes.begin(), bytes.end());
  std::span<const std::byte> rest = found.joined;
  const std::int64_t file_bytes = files_.file_bytes();
  while (true) {
    if (skip >= static_cast<std::int64_t>(rest.size())) {
      return found;
    }
    rest = rest.subspan(static_cast<std::size_t>(skip));
    const PhysicalOffset at = found.records_end;
    const std::int64_t remaining = file_bytes - at.value % file_bytes;
    const DecodedRecord record =
        decode_record(rest, {.expected_offset = at, .body_crc = true, .record_crc = false});
    const auto invalid = [&](const char* fault) {
      return Error(ErrorCode::kCorruption, fault)
          .at("offset " + std::to_string(at.value))
          .with_remedy("fetch these bytes from the master again; none of this call was kept");
    };
    switch (record.kind) {
      case RecordKind::kRecord: {
        if (record.bytes + kBlankBytesMin > remaining) {
          return invalid("a record leaves no room for the end of its file");
        }
        if (sys_flag::takes_queue_offset(record.view.sys_flag)) {
          found.queues.push_back({.key = {record.view.topic, record.view.queue},
                                  .next = QueueOffset{record.view.queue_offset.value + 1}});
        }
        found.last_record = at;
        found.last_record_bytes = static_cast<std::int32_t>(record.bytes);
        found.last_store_timestamp_ms =
            std::max(found.last_store_timestamp_ms, record.view.store_timestamp_ms);
        found.has_v2_records = found.has_v2_records || record.view.version == 2;
        skip = record.bytes;
        break;
      }
      case RecordKind::kBlank:
        if (record.bytes != remaining) {
          return invalid("a blank does not reach the end of its file");
        }
        if (std::cmp_less(rest.size(), remaining)) {
          return found;  // as part of a record: the log's end never lies ahead of its bytes
        }
        skip = remaining;
        break;
      case RecordKind::kIncomplete:
        if (record.bytes + kBlankBytesMin > remaining) {
          return invalid("a record is longer than what is left of its file");
        }
        return found;
      case RecordKind::kZero:
      case RecordKind::kInvalid:
        if (rest.size() < static_cast<std::size_t>(kBlankBytesMin)) {
          return found;  // too few bytes to tell yet
        }
        return invalid(record.kind == RecordKind::kZero ? "zeros where a record should begin"
                                                        : record.fault);
    }
    found.records_end = at + skip;
  }
}

Result<void> Appender::append_raw_in_file(std::span<const std::byte> bytes) {
  KEROLOX_ASSIGN_OR_RETURN(const RawRecords found, check_raw(bytes));
  if (own_begin_) {
    // These bytes may carry a stale `__CRC32#` of Java's: our range must end before them, on disk
    // too.
    own_begin_.reset();
    KEROLOX_RETURN_IF_ERROR(keeper_.end_own_range());
  }
  LogFile* file = files_.active();
  if (file == nullptr || reserved_ == file->base() + file->bytes()) {
    KEROLOX_RETURN_IF_ERROR(roll(file));
    file = files_.active();
  }
  const std::int64_t position = reserved_ - file->base();
  const PhysicalOffset end = reserved_ + static_cast<std::int64_t>(bytes.size());
  KEROLOX_RETURN_IF_ERROR(make_writable(file, end));
  const std::uint64_t sequence = state_.filled.reserve();
  file->fill(position, bytes);
  reserved_ = end;
  records_end_ = found.records_end;
  last_record_ = found.last_record;
  last_record_bytes_ = found.last_record_bytes;
  last_store_timestamp_ms_ = found.last_store_timestamp_ms;
  has_v2_records_ = found.has_v2_records;
  for (const RawRecords::Queue& queue : found.queues) {
    table_.raise(queue.key, queue.next);
  }
  // In this order: the old filled offset may lie inside the record that the new end completes.
  state_.filled.publish(sequence, end);
  state_.set_records_end(records_end_);
  file->publish(end - file->base());
  return {};
}

void Appender::restart_at(PhysicalOffset offset) {
  reserved_ = offset;
  records_end_ = offset;
  state_.restart_at(offset);
}

// The first file of a log that does not begin at 0, its name and that it is the first on disk: else
// a crash could leave it looking like what has lost all files before it.
Result<void> Appender::begin_log(std::span<const std::byte> bytes) {
  KEROLOX_RETURN_IF_ERROR(check_raw(bytes));
  KEROLOX_RETURN_IF_ERROR(roll(nullptr));
  KEROLOX_RETURN_IF_ERROR(files_.flush(reserved_, reserved_ + 1));
  KEROLOX_RETURN_IF_ERROR(keeper_.raise_limit(reserved_));
  return keeper_.save(snapshot_locked(), 0, false);
}

Result<void> Appender::append_raw(PhysicalOffset at, std::span<const std::byte> bytes) {
  MutexLock lock(mutex_);
  KEROLOX_RETURN_IF_ERROR(check_open());
  wait_until_idle();
  const std::int64_t file_bytes = files_.file_bytes();
  const bool begins_here = files_.empty() && at != reserved_ && !bytes.empty() && at.value > 0 &&
                           at.value % file_bytes == 0;
  if (begins_here) {
    const PhysicalOffset before = reserved_;
    restart_at(at);
    const auto size = std::min(bytes.size(), static_cast<std::size_t>(file_bytes));
    const Result<void> begun = begin_log(bytes.first(size));
    if (!begun) {
      if (files_.empty()) {
        restart_at(before);
      } else {
        state_.fail(begun.error());
      }
      return begun;
    }
  }
  if (at != reserved_) {
    return Error(ErrorCode::kOutOfRange, "raw bytes must go on at the end of the log")
        .with_number("offset", at.value)
        .with_number("expected", reserved_.value);
  }
  while (!bytes.empty()) {
    const std::int64_t remaining = file_bytes - reserved_.value % file_bytes;
    const auto size =
        static_cast<std::size_t>(std::min(static_cast<std::int64_t>(bytes.size()), remaining));
    const Result<void> appended = append_raw_in_file(bytes.first(size));
    if (!appended) {
      const bool refused = appended.error().code() == ErrorCode::kCorruption;
      return refused ? appended.error() : end_if_final(appended.error());
    }
    bytes = bytes.subspan(size);
  }
  return {};
}

}  // namespace kerolox::storage
