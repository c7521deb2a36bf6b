#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "kerolox/base/endian.h"
#include "storage/data_windows.h"
#include "storage/file_bytes.h"
#include "storage/hash.h"
#include "storage/java_files.h"
#include "storage/record_cursor.h"
#include "storage/record_format.h"
#include "storage/recovery.h"

namespace kerolox::storage {
namespace {

// How far behind its last sync Java's `checkpoint` is believed: as Java does itself.
constexpr std::int64_t kJavaMarginMs = 3000;

// What the files by which Java remembers a store say now.
struct JavaSigns {
  std::uint64_t checkpoint_hash = 0;
  std::int64_t abort_pid = 0;
  bool abort = false;
  std::int64_t physic_timestamp_ms = 0;
};

Result<JavaSigns> read_java_signs(const std::filesystem::path& directory, FileSystem& file_system) {
  JavaFiles files(directory, file_system);
  JavaSigns signs;
  KEROLOX_ASSIGN_OR_RETURN(signs.checkpoint_hash, files.checkpoint_hash());
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<std::int64_t> pid, files.abort_pid());
  signs.abort = pid.has_value();
  signs.abort_pid = pid.value_or(0);
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<JavaCheckpoint> checkpoint, files.load_checkpoint());
  signs.physic_timestamp_ms = checkpoint ? checkpoint->physic_timestamp_ms : 0;
  return signs;
}

std::vector<OwnRange> clip(std::vector<OwnRange> ranges, PhysicalOffset end) {
  for (OwnRange& range : ranges) {
    range.end = std::min(range.end, end);
  }
  std::erase_if(ranges, [](const OwnRange& range) { return range.begin >= range.end; });
  return ranges;
}

class Survey {
 public:
  Survey(const RecoveryInput& input, FileSystem& file_system)
      : input_(input), file_system_(file_system), bytes_(found_.layout, file_system) {}

  Result<LogSurvey> run(std::optional<Checkpoint> loaded, int damaged_copies);

 private:
  enum class Fit : std::uint8_t { kFits, kVoid, kFileMissing };

  Result<void> read_layout();
  // Whether the log still is what the checkpoint describes.
  Result<Fit> fit(const Checkpoint& checkpoint);
  Fit fit_file_begin(PhysicalOffset synced) const;
  Result<Fit> fit_last_record(const Checkpoint& checkpoint);
  Result<void> believe(std::optional<Checkpoint> loaded, int damaged_copies);
  void take_over(Checkpoint checkpoint, int damaged_copies);
  Result<void> scan();
  Result<void> load_queue_offsets(QueueTable& queues);
  Result<void> look_behind_end();
  void find_gap();

  PhysicalOffset files_end() const {
    return found_.layout.files.empty() ? PhysicalOffset{0}
                                       : found_.layout.files.back().base + found_.layout.file_bytes;
  }

  const RecoveryInput& input_;
  FileSystem& file_system_;
  LogSurvey found_;
  FileBytes bytes_;
  JavaSigns java_;
};

Result<LogSurvey> Survey::run(std::optional<Checkpoint> loaded, int damaged_copies) {
  KEROLOX_ASSIGN_OR_RETURN(java_, read_java_signs(input_.directory, file_system_));
  KEROLOX_RETURN_IF_ERROR(read_layout());
  KEROLOX_RETURN_IF_ERROR(believe(std::move(loaded), damaged_copies));
  KEROLOX_RETURN_IF_ERROR(scan());
  KEROLOX_RETURN_IF_ERROR(look_behind_end());
  find_gap();
  found_.rules.progress = nullptr;
  return std::move(found_);
}

Result<void> Survey::read_layout() {
  std::vector<std::filesystem::path> directories = input_.log_directories;
  if (directories.empty()) {
    directories.push_back(input_.directory / "commitlog");
  }
  auto layout = read_log_layout(directories, input_.file_bytes, file_system_);
  if (!layout && layout.error().code() == ErrorCode::kNotFound) {
    return {};
  }
  KEROLOX_ASSIGN_OR_RETURN(found_.layout, std::move(layout));
  if (found_.layout.files.empty()) {
    return {};
  }
  found_.min_offset = found_.layout.files.front().base;
  const LogFileEntry& last = found_.layout.files.back();
  if (last.base.value > std::numeric_limits<std::int64_t>::max() - found_.layout.file_bytes) {
    return Error(ErrorCode::kCorruption, "the name is an offset that no log can reach")
        .at(last.path.string())
        .with_remedy("give it back its own name: the offset of its first byte");
  }
  return {};
}

Result<Survey::Fit> Survey::fit(const Checkpoint& checkpoint) {
  const LogLayout& layout = found_.layout;
  const bool has_record = checkpoint.last_record.value >= 0;
  if (!has_record && checkpoint.written_limit == checkpoint.synced &&
      (layout.files.empty() || checkpoint.synced <= found_.min_offset)) {
    return Fit::kFits;  // files were made, and nothing was written yet
  }
  if (!layout.files.empty() && checkpoint.file_bytes != layout.file_bytes) {
    return Fit::kVoid;
  }
  if (!has_record) {
    return fit_file_begin(checkpoint.synced);
  }
  if (layout.file_of(checkpoint.last_record) == nullptr) {
    return Fit::kFileMissing;
  }
  if (checkpoint.cut_to && *checkpoint.cut_to < checkpoint.synced) {
    return Fit::kFits;  // the record may be gone already, as it shall
  }
  return fit_last_record(checkpoint);
}

// Nothing is recorded of the file that begins at `synced`: it may have been written to and yet have
// lost its name, in a power cut that came before the first sync. The file before it may not.
Survey::Fit Survey::fit_file_begin(PhysicalOffset synced) const {
  const LogLayout& layout = found_.layout;
  if (!layout.files.empty() && synced.value % layout.file_bytes != 0) {
    return Fit::kVoid;
  }
  const bool begin_of_all = synced.value == 0;
  return begin_of_all || layout.file_of(synced) != nullptr || layout.file_of(synced - 1) != nullptr
             ? Fit::kFits
             : Fit::kFileMissing;
}

Result<Survey::Fit> Survey::fit_last_record(const Checkpoint& checkpoint) {
  const PhysicalOffset place = checkpoint.last_record;
  const std::int64_t record_bytes = checkpoint.synced - place;
  // By its own checksum, too: a flipped bit of its header is rot of one record, not another log.
  RecordCursor cursor(bytes_, found_.layout.file_bytes, checkpoint.synced, checkpoint.own_ranges);
  KEROLOX_ASSIGN_OR_RETURN(std::span<const std::byte> bytes,
                           cursor.bytes_at(place, kRecordBytesMin));
  const DecodedRecord head = decode_head(bytes);
  if (std::cmp_less(bytes.size(), kRecordBytesMin) || head.bytes != record_bytes ||
      load_big_endian<std::int64_t>(bytes.data() + record_format::kPhysicalOffsetAt) !=
          place.value) {
    return Fit::kVoid;
  }
  KEROLOX_ASSIGN_OR_RETURN(bytes, cursor.bytes_at(place, record_bytes));
  const std::uint64_t hash = xxh3_64(bytes);
  if (hash == checkpoint.last_record_hash) {
    found_.last_record_hash = hash;
    return Fit::kFits;
  }
  KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord decoded, cursor.at(place));
  if (found_.java_wrote || decoded.kind == RecordKind::kRecord) {
    return Fit::kVoid;
  }
  // It stands where it stood, says so itself, and nobody else has written: it has rotted, and the
  // log goes on behind it.
  found_.damaged.push_back({place, record_bytes, decoded.fault});
  found_.last_record_hash = hash;
  return Fit::kFits;
}

Result<void> Survey::believe(std::optional<Checkpoint> loaded, int damaged_copies) {
  found_.java_wrote = loaded ? java_.checkpoint_hash != loaded->java_checkpoint_hash ||
                                   java_.abort_pid != loaded->abort_pid
                             : !found_.layout.files.empty();
  found_.scanned_from = found_.min_offset;
  found_.written_limit = files_end();
  found_.rules.end = files_end();
  if (found_.java_wrote && java_.physic_timestamp_ms > kJavaMarginMs) {
    found_.rules.rot_until_ms = java_.physic_timestamp_ms - kJavaMarginMs;
  }
  found_.clean_stop = !java_.abort;
  if (!loaded) {
    return {};
  }
  KEROLOX_ASSIGN_OR_RETURN(const Fit fitting, fit(*loaded));
  if (fitting == Fit::kFits) {
    take_over(*std::move(loaded), damaged_copies);
    return {};
  }
  found_.checkpoint_void = true;
  found_.clean_stop = found_.java_wrote ? !java_.abort : loaded->clean;
  if (fitting == Fit::kFileMissing && !found_.java_wrote) {
    const PhysicalOffset held =
        loaded->last_record.value >= 0 ? loaded->last_record : loaded->synced;
    found_.missing_file =
        loaded->file_bytes > 0 ? file_end_of(held, loaded->file_bytes) - loaded->file_bytes : held;
    found_.missing_was_synced = true;
  }
  found_.rules.known_damage = std::move(loaded->quarantine);
  return {};
}

// The checkpoint describes the log: its bounds hold, as far as nobody else has written.
void Survey::take_over(Checkpoint checkpoint, int damaged_copies) {
  if (!found_.java_wrote) {
    found_.clean_stop = checkpoint.clean;
    if (damaged_copies == 0) {
      found_.written_limit = checkpoint.written_limit;
      if (checkpoint.written_limit > checkpoint.synced && checkpoint.last_record.value < 0) {
        // If the first file of all has lost its name: what is there came behind it, and was never
        // synced either.
        found_.min_offset = std::min(found_.min_offset, checkpoint.synced);
      }
    }
  }
  found_.rules.own_ranges =
      found_.java_wrote ? clip(checkpoint.own_ranges, checkpoint.synced) : checkpoint.own_ranges;
  found_.scanned_from = std::max(checkpoint.synced, found_.min_offset);
  if (checkpoint.cut_to) {
    found_.rules.end = std::clamp(*checkpoint.cut_to, found_.min_offset, found_.rules.end);
    if (*checkpoint.cut_to < checkpoint.synced) {  // its table of queues counts what goes
      found_.scanned_from = found_.min_offset;
      found_.rules.rot_below = *checkpoint.cut_to;
    }
  }
  found_.last_record = checkpoint.last_record;
  found_.checkpoint = std::move(checkpoint);
}

Result<void> Survey::scan() {
  found_.rules.from = found_.scanned_from;
  if (input_.log) {
    found_.rules.progress = [this](PhysicalOffset reached) {
      const std::string text = "recovery: scanned to " + std::to_string(reached.value) + " of " +
                               std::to_string(files_end().value);
      input_.log(Severity::kInfo, text);
    };
  }
  QueueTable queues;
  const bool table_known = found_.checkpoint && (found_.scanned_from >= found_.checkpoint->synced);
  if (table_known) {
    queues.merge(found_.checkpoint->queue_offsets, found_.scanned_from);
    found_.last_store_timestamp_ms = found_.checkpoint->last_store_timestamp_ms;
  }
  ScanResult scanned{.end = found_.scanned_from};
  if (found_.layout.files.empty()) {
    scanned.end_kind = LogEnd::kEmpty;
  } else if (found_.layout.file_of(found_.scanned_from) == nullptr) {
    const bool behind_all = found_.scanned_from == files_end();
    scanned.end_kind = behind_all ? LogEnd::kAfterBlank : LogEnd::kMissingFile;
  } else {
    KEROLOX_ASSIGN_OR_RETURN(scanned, scan_log(found_.layout, bytes_, found_.rules, queues));
  }
  if (scanned.end != found_.scanned_from || !table_known) {
    found_.last_record = scanned.last_record;
    found_.last_record_hash = scanned.last_record_hash;
  }
  found_.end = scanned.end;
  found_.end_kind = scanned.end_kind;
  found_.last_store_timestamp_ms =
      std::max(found_.last_store_timestamp_ms, scanned.last_store_timestamp_ms);
  found_.records_scanned = scanned.records;
  found_.records_v2 = scanned.records_v2;
  found_.digest = scanned.digest;
  for (DamagedRange& range : scanned.damaged) {
    found_.damaged.push_back(std::move(range));
  }
  if (!table_known) {
    KEROLOX_RETURN_IF_ERROR(load_queue_offsets(queues));
  }
  found_.queue_offsets = queues.list();
  return {};
}

// Queues whose records have all expired are known to nobody but this source.
Result<void> Survey::load_queue_offsets(QueueTable& queues) {
  if (input_.queue_offsets == nullptr) {
    return {};
  }
  KEROLOX_ASSIGN_OR_RETURN(const QueueOffsetSource::Known known,
                           input_.queue_offsets->load(found_.end));
  if (known.up_to <= found_.end) {  // else it counts records that the log no longer holds
    queues.merge(known.offsets, known.up_to);
  }
  return {};
}

Result<void> Survey::look_behind_end() {
  if (found_.layout.files.empty()) {
    return {};
  }
  if (found_.end > found_.written_limit) {
    found_.written_limit = files_end();  // the bound was wrong
  }
  const bool zeros = found_.end_kind == LogEnd::kZeros || found_.end_kind == LogEnd::kAfterBlank;
  if (!zeros) {
    return {};
  }
  const bool recorded = found_.checkpoint && found_.checkpoint->clean && !found_.java_wrote &&
                        found_.checkpoint->synced == found_.end;
  const bool cut = found_.checkpoint && found_.checkpoint->cut_to == found_.end;
  if (found_.end_kind == LogEnd::kZeros) {
    KEROLOX_ASSIGN_OR_RETURN(
        const std::optional<PhysicalOffset> behind,
        first_nonzero(found_.layout, found_.end, found_.written_limit, file_system_));
    if (behind && !cut) {
      // What was written behind reached the disk before what belongs in front of it.
      found_.end_kind = LogEnd::kTornRecord;
      return {};
    }
  }
  if (recorded || cut) {
    found_.end_kind = LogEnd::kClean;
  }
  return {};
}

void Survey::find_gap() {
  if (found_.missing_file) {
    return;
  }
  if (found_.checkpoint && !found_.java_wrote) {
    const Checkpoint& known = *found_.checkpoint;
    const bool begins_later =
        found_.layout.files.empty() || found_.layout.files.front().base > known.min_offset;
    if (begins_later && known.synced > known.min_offset) {
      found_.missing_file = known.min_offset;
      found_.missing_was_synced = true;
      return;
    }
  }
  const std::vector<LogFileEntry>& files = found_.layout.files;
  for (std::size_t index = 1; index < files.size(); ++index) {
    const PhysicalOffset wanted = files[index - 1].base + found_.layout.file_bytes;
    if (files[index].base != wanted) {
      found_.missing_file = wanted;
      found_.missing_is_end = found_.checkpoint && wanted >= found_.checkpoint->synced;
      found_.missing_was_synced = found_.checkpoint && wanted < found_.checkpoint->synced;
      return;
    }
  }
}

}  // namespace

Result<LogSurvey> survey_log(const RecoveryInput& input, std::optional<Checkpoint> loaded,
                             int damaged_copies, FileSystem& file_system) {
  return Survey(input, file_system).run(std::move(loaded), damaged_copies);
}

Result<LogSurvey> survey_log(const RecoveryInput& input, FileSystem& file_system) {
  CheckpointFiles files(input.directory / "kerolox", file_system);
  // The checkpoint before the files: a log that grows meanwhile has moved on from it, not it from
  // the log.
  KEROLOX_ASSIGN_OR_RETURN(std::optional<Checkpoint> loaded, files.load());
  return survey_log(input, std::move(loaded), files.damaged_copies(), file_system);
}

}  // namespace kerolox::storage
