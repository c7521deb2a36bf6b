#include "storage/live_reader.h"

#include <algorithm>
#include <string>

#include "kerolox/storage/record.h"

namespace kerolox::storage {
namespace {

// The bytes of an open log. With `memory_only`, those that would need the disk are not there.
class LiveBytes final : public LogBytes {
 public:
  LiveBytes(LogFileQueue& files, PhysicalOffset memory_from, bool memory_only)
      : files_(files), memory_from_(memory_from), memory_only_(memory_only) {}

  Result<std::span<const std::byte>> bytes_at(PhysicalOffset offset, std::int64_t bytes_wanted,
                                              std::vector<std::byte>& buffer,
                                              std::shared_ptr<const void>& pin) override {
    const std::shared_ptr<LogFile> file = files_.file_at(offset);
    if (file == nullptr) {
      return std::span<const std::byte>();
    }
    const std::int64_t position = offset - file->base();
    if (offset >= memory_from_) {
      PinnedBytes pinned = file->pin(position, bytes_wanted);
      if (!pinned.bytes.empty()) {
        pin = std::move(pinned.pin);
        return pinned.bytes;
      }
    }
    if (memory_only_) {
      missed_ = true;
      return std::span<const std::byte>();
    }
    const auto size = static_cast<std::size_t>(std::min(bytes_wanted, file->bytes() - position));
    if (buffer.size() < size) {
      buffer.resize(size);
    }
    KEROLOX_ASSIGN_OR_RETURN(const std::size_t read,
                             file->read(position, std::span(buffer).first(size)));
    return std::span<const std::byte>(buffer).first(read);
  }

  bool missed() const { return missed_; }

 private:
  LogFileQueue& files_;
  const PhysicalOffset memory_from_;
  const bool memory_only_;
  bool missed_ = false;
};

}  // namespace

LiveReader::LiveReader(LogState& state, LogFileQueue& files, CheckpointKeeper& keeper,
                       const LogCallback& log)
    : state_(state), files_(files), keeper_(keeper), log_(log) {}

Result<void> LiveReader::read(PhysicalOffset offset, const ReadOptions& options, ReadBatch& batch) {
  LiveBytes bytes(files_, state_.filled.value() - kMemoryWindowBytes, false);
  return read_from(bytes, offset, options, batch);
}

Result<bool> LiveReader::try_read(PhysicalOffset offset, const ReadOptions& options,
                                  ReadBatch& batch) {
  LiveBytes bytes(files_, state_.filled.value() - kMemoryWindowBytes, true);
  const Result<void> done = read_from(bytes, offset, options, batch);
  if (bytes.missed()) {
    batch.clear();
    return false;
  }
  if (!done) {
    return done.error();
  }
  return true;
}

Result<void> LiveReader::read_from(LogBytes& bytes, PhysicalOffset offset,
                                   const ReadOptions& options, ReadBatch& batch) {
  if (state_.closed.load(std::memory_order_acquire)) {
    return shutdown_error();
  }
  const std::int64_t truncations = truncations_.load();
  const std::shared_ptr<const std::vector<OwnRange>> own_ranges = keeper_.own_ranges();
  // The confirm offset may lie inside a record, since replicas and syncs count bytes: such a record
  // is looked at whole, so that it is not taken for damage, but not shown yet.
  const PhysicalOffset readable = state_.readable();
  const PhysicalOffset visible = options.limit == ReadOptions::Limit::kConfirmed
                                     ? std::min(readable, state_.confirmed())
                                     : readable;
  const LogReadLimits limits{.min = files_.min_offset(),
                             .end = offset < visible ? readable : visible,
                             .file_bytes = files_.file_bytes(),
                             .count_max = options.count_max,
                             .bytes_max = options.bytes_max,
                             .own_ranges = *own_ranges};
  KEROLOX_RETURN_IF_ERROR(LogReader::read(bytes, offset, limits, batch));
  LogReader::trim(batch, offset, visible);
  if (batch.damaged().empty()) {
    return {};
  }
  if (truncations != truncations_.load()) {
    batch.clear();
    return Error(ErrorCode::kOutOfRange, "the log was truncated while it was read")
        .with_number("offset", offset.value)
        .with_number("max", state_.filled.value().value);
  }
  if (batch.damaged().front().offset == offset) {
    // An offset inside a record looks like damage, too.
    KEROLOX_ASSIGN_OR_RETURN(const bool begins, record_begins_at(bytes, offset, limits));
    if (!begins) {
      batch.clear();
      return Error(ErrorCode::kCorruption, "no record begins here")
          .at("offset " + std::to_string(offset.value))
          .with_remedy("read from a record's begin: one from a receipt, a queue or next_offset()");
    }
  }
  quarantine(batch);
  return {};
}

void LiveReader::quarantine(const ReadBatch& batch) {
  for (const DamagedRange& range : batch.damaged()) {
    if (!keeper_.add_quarantine(range)) {
      continue;
    }
    damaged_.fetch_add(1);
    if (log_) {
      log_(Severity::kError, "quarantined " + std::to_string(range.bytes) + " bytes at offset " +
                                 std::to_string(range.offset.value) + ": " + range.fault);
    }
  }
}

Result<PhysicalOffset> LiveReader::record_before(PhysicalOffset offset) {
  const std::int64_t file_bytes = files_.file_bytes();
  if (offset.value % file_bytes == 0) {
    return PhysicalOffset{-1};
  }
  const PhysicalOffset base{offset.value - offset.value % file_bytes};
  LiveBytes bytes(files_, state_.filled.value() - kMemoryWindowBytes, false);
  std::vector<std::byte> buffer;
  std::shared_ptr<const void> pin;
  std::span<const std::byte> window;
  PhysicalOffset window_at = base;
  PhysicalOffset at = base;
  PhysicalOffset before{-1};
  while (at < offset) {
    if (at - window_at + kBlankBytesMin > static_cast<std::int64_t>(window.size())) {
      KEROLOX_ASSIGN_OR_RETURN(window, bytes.bytes_at(at, std::int64_t{1} << 20, buffer, pin));
      window_at = at;
    }
    const DecodedRecord head =
        decode_head(window.subspan(static_cast<std::size_t>(at - window_at)));
    if (head.bytes < kRecordBytesMin) {
      return Error(ErrorCode::kCorruption, "the chain of records is broken")
          .at("offset " + std::to_string(at.value));
    }
    before = at;
    at = at + head.bytes;
  }
  if (at != offset) {
    return Error(ErrorCode::kInvalidArgument, "no record begins here")
        .at("offset " + std::to_string(offset.value))
        .with_number("record_begin", before.value)
        .with_number("record_end", at.value);
  }
  return before;
}

Result<std::vector<std::byte>> LiveReader::read_raw(PhysicalOffset offset, std::int64_t bytes) {
  if (state_.closed.load(std::memory_order_acquire)) {
    return shutdown_error();
  }
  const PhysicalOffset min = files_.min_offset();
  const PhysicalOffset end = state_.filled.value();
  if (offset < min || offset > end) {
    return Error(ErrorCode::kOutOfRange, "the log does not hold this offset")
        .with_number("offset", offset.value)
        .with_number("min", min.value)
        .with_number("max", end.value);
  }
  LiveBytes source(files_, end - kMemoryWindowBytes, false);
  std::vector<std::byte> buffer;
  std::shared_ptr<const void> pin;
  KEROLOX_ASSIGN_OR_RETURN(
      const std::span<const std::byte> found,
      source.bytes_at(offset, std::clamp<std::int64_t>(bytes, 0, end - offset), buffer, pin));
  return std::vector<std::byte>(found.begin(), found.end());
}

}  // namespace kerolox::storage
