// Any bytes as the files of a log, ours or Java's: surveying, reading and recovering never fail in
// an untyped way, what is kept is valid at its place, and a second recovery changes nothing.
//
// The first byte says what kind of store it is, the second the length of its files, the third how
// far the checkpoint says that it is synced; the rest is the files' content.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kerolox/base/check.h"
#include "kerolox/base/endian.h"
#include "kerolox/storage/read_only_log.h"
#include "kerolox/storage/record.h"
#include "storage/checkpoint.h"
#include "storage/file_bytes.h"
#include "storage/java_files.h"
#include "storage/log_reader.h"
#include "storage/recovery.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"

namespace kerolox::storage {
namespace {

constexpr std::uint8_t kSeal = 1;        // give records their place and checksum: nobody guesses it
constexpr std::uint8_t kCheckpoint = 2;  // ours
constexpr std::uint8_t kOwnRanges = 4;
constexpr std::uint8_t kJavaTime = 8;
constexpr std::uint8_t kCut = 16;
constexpr std::uint8_t kGap = 32;

using Contents = std::map<std::string, std::vector<std::byte>>;

// Makes what looks like records of `content` right, as far as its chain of sizes goes.
void seal(std::span<std::byte> content, std::int64_t file_bytes) {
  std::size_t at = 0;
  while (at + 91 <= content.size()) {
    const auto rest =
        static_cast<std::size_t>(file_bytes - static_cast<std::int64_t>(at) % file_bytes);
    const DecodedRecord head =
        decode_head(content.subspan(at, std::min(rest, content.size() - at)));
    if (head.kind == RecordKind::kBlank) {
      at += rest;
      continue;
    }
    if (head.kind != RecordKind::kRecord) {
      return;
    }
    const auto record = content.subspan(at, static_cast<std::size_t>(head.bytes));
    store_big_endian(record.data() + 28, static_cast<std::int64_t>(at));
    const DecodedRecord decoded = decode_record(record, {.body_crc = false});
    if (decoded.kind == RecordKind::kRecord) {
      store_big_endian(record.data() + 8, crc31(decoded.view.body));
    }
    at += record.size();
  }
}

void write(CrashFileSystem& disk, const std::string& name, std::span<const std::byte> content,
           std::int64_t file_bytes) {
  auto file = disk.open("/store/commitlog/" + name, {.mode = OpenOptions::Mode::kCreateOrOpen});
  KEROLOX_CHECK(file && (*file)->resize(file_bytes) && (*file)->write_at(0, content) &&
                (*file)->sync());
}

Contents read_all(CrashFileSystem& disk) {
  Contents contents;
  const auto entries = disk.list("/store/commitlog");
  KEROLOX_CHECK(entries.has_value());
  for (const DirectoryEntry& entry : *entries) {
    auto file = disk.open("/store/commitlog/" + entry.name, {});
    KEROLOX_CHECK(file.has_value());
    contents[entry.name].resize(static_cast<std::size_t>((*file)->status()->bytes));
    KEROLOX_CHECK((*file)->read_at(0, contents[entry.name]).has_value());
  }
  return contents;
}

void save_checkpoint(CrashFileSystem& disk, std::uint8_t kind, std::int64_t file_bytes,
                     std::int64_t synced, std::int64_t end) {
  Checkpoint checkpoint;
  checkpoint.file_bytes = file_bytes;
  checkpoint.synced = PhysicalOffset{synced};
  checkpoint.written_limit = PhysicalOffset{std::max(synced, end)};
  if ((kind & kOwnRanges) != 0) {
    checkpoint.own_ranges = {{PhysicalOffset{0}, checkpoint.written_limit}};
  }
  if ((kind & kCut) != 0) {
    checkpoint.cut_to = PhysicalOffset{synced};
  }
  CheckpointFiles files("/store/kerolox", disk);
  KEROLOX_CHECK(files.load() && files.save(checkpoint));
}

// Walks the log as a reader does; what it gets is valid, in order, and all that there is.
void check_readable(CrashFileSystem& disk, const RecoveryInput& input) {
  const auto survey = survey_log(input, disk);
  KEROLOX_CHECK(survey.has_value());
  if (survey->layout.files.empty()) {
    return;
  }
  FileBytes bytes(survey->layout, disk);
  const LogReadLimits limits{.min = survey->min_offset,
                             .end = survey->end,
                             .file_bytes = survey->layout.file_bytes,
                             .count_max = 3,
                             .bytes_max = 500,
                             .own_ranges = survey->rules.own_ranges};
  ReadBatch batch;
  for (PhysicalOffset at = limits.min; at < limits.end; at = batch.next_offset()) {
    KEROLOX_CHECK(LogReader::read(bytes, at, limits, batch).has_value());
    KEROLOX_CHECK(batch.next_offset() > at && batch.next_offset() <= limits.end);
    PhysicalOffset reached = at;
    for (const MessageView& message : batch) {
      KEROLOX_CHECK(message.offset >= reached);
      reached = message.offset + message.record_bytes;
      KEROLOX_CHECK(reached <= limits.end);
      const DecodedRecord again =
          decode_record(message.record, {.expected_offset = message.offset});
      KEROLOX_CHECK(again.kind == RecordKind::kRecord);
    }
  }
}

void fuzz(std::span<const std::byte> input) {
  if (input.size() < 3) {
    return;
  }
  const auto kind = std::to_integer<std::uint8_t>(input[0]);
  const std::int64_t file_bytes = std::int64_t{64} << (std::to_integer<std::uint8_t>(input[1]) % 8);
  std::vector<std::byte> content(input.begin() + 3, input.end());
  if ((kind & kSeal) != 0) {
    seal(content, file_bytes);
  }
  CrashFileSystem disk;
  KEROLOX_CHECK(disk.create_directories("/store/kerolox") &&
                disk.create_directories("/store/commitlog") && disk.sync_directory("/") &&
                disk.sync_directory("/store"));
  const auto size = static_cast<std::int64_t>(content.size());
  for (std::int64_t base = 0; base < size; base += file_bytes) {
    if ((kind & kGap) != 0 && base == file_bytes) {
      continue;
    }
    write(disk, log_file_name(PhysicalOffset{base}),
          std::span(content).subspan(static_cast<std::size_t>(base),
                                     static_cast<std::size_t>(std::min(file_bytes, size - base))),
          file_bytes);
  }
  if ((kind & kCheckpoint) != 0) {
    save_checkpoint(disk, kind, file_bytes,
                    std::to_integer<std::int64_t>(input[2]) * file_bytes / 2, size);
  } else if ((kind & kJavaTime) != 0) {
    KEROLOX_CHECK(JavaFiles("/store", disk)
                      .save_checkpoint({.physic_timestamp_ms = 1'700'000'003'000})
                      .has_value());
  }

  const RecoveryInput store{.directory = "/store"};
  const Contents before = read_all(disk);
  check_readable(disk, store);
  const auto read_only = ReadOnlyLog::open({.directory = "/store"}, disk);
  KEROLOX_CHECK(read_only && (*read_only)->info({}).has_value());
  KEROLOX_CHECK(read_all(disk) == before);

  const ManualClock clock;
  CheckpointFiles checkpoints("/store/kerolox", disk);
  const auto first = recover_log(store, checkpoints, disk, clock);
  if (!first) {
    KEROLOX_CHECK(first.error().code() == ErrorCode::kCorruption);  // a file is missing
    KEROLOX_CHECK(read_all(disk) == before);
    return;
  }
  KEROLOX_CHECK(first->report.end == (*read_only)->end());
  check_readable(disk, store);
  const Contents after = read_all(disk);
  const auto second = recover_log(store, checkpoints, disk, clock);
  KEROLOX_CHECK(second && second->report.end == first->report.end);
  KEROLOX_CHECK(second->report.cut_bytes == 0 && second->report.removed_files == 0);
  KEROLOX_CHECK(second->checkpoint.queue_offsets == first->checkpoint.queue_offsets);
  KEROLOX_CHECK(read_all(disk) == after);
}

}  // namespace
}  // namespace kerolox::storage

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kerolox::storage::fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}
