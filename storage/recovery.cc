#include "storage/recovery.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "storage/cut_file.h"
#include "storage/damaged_ranges.h"
#include "storage/data_windows.h"
#include "storage/disk_truth.h"
#include "storage/file_bytes.h"

namespace kerolox::storage {
namespace {

class Recovery {
 public:
  Recovery(const RecoveryInput& input, CheckpointFiles& checkpoints, FileSystem& file_system,
           const Clock& clock)
      : input_(input), checkpoints_(checkpoints), file_system_(file_system), clock_(clock) {}

  Result<RecoveredLog> run();

 private:
  Result<void> survey();
  Result<void> refuse_missing_file() const;
  // Makes what was scanned durable. False: memory has forgotten meanwhile what the disk never held,
  // so that the log must be looked at again.
  Result<bool> prove_records();
  Result<bool> disk_agrees();
  Result<void> clear_tail();
  Result<void> remove_files_behind();
  Result<void> sync_names();
  Result<void> save_checkpoint();
  void report();
  void say(Severity severity, const std::string& text) const {
    if (input_.log) {
      input_.log(severity, text);
    }
  }
  // Whether the file holds nothing of the log and goes.
  bool behind_end(const LogFileEntry& entry) const { return entry.base > found_.end; }

  const RecoveryInput& input_;
  CheckpointFiles& checkpoints_;
  FileSystem& file_system_;
  const Clock& clock_;
  LogSurvey found_;
  bool direct_reads_ = false;
  RecoveredLog done_;
};

Result<RecoveredLog> Recovery::run() {
  const MonotonicTime begin = clock_.monotonic();
  constexpr int kAttempts = 3;
  for (int attempt = 0;; ++attempt) {
    KEROLOX_RETURN_IF_ERROR(survey());
    KEROLOX_ASSIGN_OR_RETURN(const bool proven, prove_records());
    if (proven) {
      break;
    }
    if (attempt == kAttempts) {
      return Error(ErrorCode::kIoError, "the disk does not keep what is written to it")
          .at(input_.directory.string())
          .with_number("physical_offset", found_.scanned_from.value)
          .with_remedy("replace the disk");
    }
  }
  KEROLOX_RETURN_IF_ERROR(clear_tail());
  KEROLOX_RETURN_IF_ERROR(remove_files_behind());
  KEROLOX_RETURN_IF_ERROR(sync_names());
  KEROLOX_RETURN_IF_ERROR(save_checkpoint());
  report();
  done_.report.elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(clock_.monotonic() - begin);
  done_.layout = std::move(found_.layout);
  return std::move(done_);
}

Result<void> Recovery::survey() {
  KEROLOX_ASSIGN_OR_RETURN(std::optional<Checkpoint> loaded, checkpoints_.load());
  KEROLOX_ASSIGN_OR_RETURN(
      found_, survey_log(input_, std::move(loaded), checkpoints_.damaged_copies(), file_system_));
  if (found_.checkpoint_void) {
    say(Severity::kWarning,
        "recovery: the checkpoint does not describe the log any more: scanned all of it");
  }
  return refuse_missing_file();
}

Result<void> Recovery::refuse_missing_file() const {
  if (!found_.missing_file || found_.missing_is_end) {
    return {};
  }
  KEROLOX_ASSIGN_OR_RETURN(
      const std::optional<PhysicalOffset> behind,
      first_nonzero(found_.layout, *found_.missing_file,
                    found_.layout.files.empty()
                        ? PhysicalOffset{0}
                        : found_.layout.files.back().base + found_.layout.file_bytes,
                    file_system_));
  if (!behind && !found_.missing_was_synced) {
    return {};
  }
  const std::filesystem::path directory = found_.layout.files.empty()
                                              ? input_.directory / "commitlog"
                                              : found_.layout.files.front().path.parent_path();
  return Error(ErrorCode::kCorruption, "a log file is missing")
      .at((directory / log_file_name(*found_.missing_file)).string())
      .with_number("log_end_without_it", found_.end.value)
      .with_remedy(
          found_.missing_was_synced
              ? "restore it from a backup or a replica; to do without it and all that it "
                "held, move kerolox/checkpoint-a and -b out of the store"
              : "restore it from a backup or a replica; to do without it and all files behind "
                "it, move those out of the store");
}

Result<bool> Recovery::prove_records() {
  if (found_.layout.files.empty() ||
      (found_.scanned_from == found_.end && found_.written_limit <= found_.end)) {
    return true;
  }
  KEROLOX_ASSIGN_OR_RETURN(direct_reads_, has_direct_reads(found_.layout, file_system_));
  const PhysicalOffset from = found_.scanned_from;
  const PhysicalOffset to = found_.end;
  if (from == to) {
    return true;
  }
  KEROLOX_RETURN_IF_ERROR(sync_files(found_.layout, from, to, file_system_));
  if (direct_reads_) {
    KEROLOX_ASSIGN_OR_RETURN(const bool agrees, disk_agrees());
    if (agrees) {
      return true;
    }
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::int64_t rewritten,
                           rewrite_lost(found_.layout, from, to, direct_reads_, file_system_));
  done_.report.rewritten_bytes += direct_reads_ ? rewritten : 0;
  if (!direct_reads_) {
    return true;
  }
  say(Severity::kWarning, "recovery: the disk had lost " + std::to_string(rewritten) +
                              " bytes above " + std::to_string(from.value) +
                              " after a failed sync: written again");
  return disk_agrees();
}

// Scans what the disk holds by the same rules. Records that are valid and the same are all that
// counts: what a blank leaves unused may differ.
Result<bool> Recovery::disk_agrees() {
  FileBytes disk(found_.layout, file_system_, FileBytes::Source::kDisk);
  ScanRules rules = found_.rules;
  rules.end = found_.end;
  QueueTable queues;
  KEROLOX_ASSIGN_OR_RETURN(const ScanResult seen, scan_log(found_.layout, disk, rules, queues));
  return seen.end == found_.end && seen.digest == found_.digest &&
         seen.records == found_.records_scanned;
}

Result<void> Recovery::clear_tail() {
  const LogLayout& layout = found_.layout;
  if (layout.files.empty()) {
    return {};
  }
  const PhysicalOffset files_end = layout.files.back().base + layout.file_bytes;
  const bool later_files = behind_end(layout.files.back());
  const PhysicalOffset saved_to = later_files ? files_end : found_.written_limit;
  if (saved_to <= found_.end) {
    return {};
  }
  KEROLOX_ASSIGN_OR_RETURN(SavedCut saved,
                           save_cut(input_.directory / "kerolox", layout, found_.end, saved_to,
                                    clock_.wall_ms(), file_system_));
  done_.report.cut_bytes = saved.bytes;
  done_.report.cut_file = std::move(saved.path);
  const LogFileEntry* kept = layout.file_of(found_.end);
  if (kept == nullptr) {
    return {};
  }
  return zero_tail(layout, found_.end,
                   std::min(found_.written_limit, kept->base + layout.file_bytes), direct_reads_,
                   file_system_);
}

Result<void> Recovery::remove_files_behind() {
  LogLayout& layout = found_.layout;
  const auto remove = [&](const std::filesystem::path& path) -> Result<void> {
    KEROLOX_RETURN_IF_ERROR(file_system_.remove(path));
    ++done_.report.removed_files;
    return {};
  };
  for (const std::filesystem::path& path : layout.empty_files) {
    KEROLOX_RETURN_IF_ERROR(remove(path));
  }
  layout.empty_files.clear();
  while (!layout.files.empty() && behind_end(layout.files.back())) {
    KEROLOX_RETURN_IF_ERROR(remove(layout.files.back().path));
    layout.files.pop_back();
  }
  return {};
}

// Also where nothing was removed now: a recovery that died before it came to here may have removed
// files, and the run before may have made some, whose records are about to be believed.
Result<void> Recovery::sync_names() {
  std::set<std::filesystem::path> directories(input_.log_directories.begin(),
                                              input_.log_directories.end());
  if (directories.empty()) {
    directories.insert(input_.directory / "commitlog");
  }
  for (const std::filesystem::path& directory : directories) {
    const auto synced = file_system_.sync_directory(directory);
    if (!synced && synced.error().code() != ErrorCode::kNotFound) {
      return synced.error();
    }
  }
  return file_system_.sync_directory(input_.directory);
}

Result<void> Recovery::save_checkpoint() {
  Checkpoint& checkpoint = done_.checkpoint;
  if (found_.checkpoint) {
    checkpoint = *found_.checkpoint;
    done_.report.machine_restarted = checkpoint.boot_id != file_system_.boot_id();
  }
  checkpoint.file_bytes = found_.layout.files.empty() ? 0 : found_.layout.file_bytes;
  checkpoint.boot_id = file_system_.boot_id();
  checkpoint.min_offset = found_.layout.files.empty() ? found_.end : found_.min_offset;
  checkpoint.synced = found_.end;
  checkpoint.written_limit = found_.end;
  checkpoint.last_record = found_.last_record;
  checkpoint.last_record_hash = found_.last_record_hash;
  checkpoint.last_store_timestamp_ms = found_.last_store_timestamp_ms;
  checkpoint.has_v2_records = checkpoint.has_v2_records || found_.records_v2 > 0;
  checkpoint.clean = true;
  checkpoint.cut_to.reset();
  checkpoint.own_ranges = std::move(found_.rules.own_ranges);
  for (OwnRange& range : checkpoint.own_ranges) {
    range.end = std::min(range.end, found_.end);
  }
  std::erase_if(checkpoint.own_ranges,
                [](const OwnRange& range) { return range.begin >= range.end; });
  checkpoint.quarantine = merge_damaged(std::move(checkpoint.quarantine), found_.damaged,
                                        found_.min_offset, found_.end);
  checkpoint.queue_offsets = std::move(found_.queue_offsets);
  return checkpoints_.save(checkpoint);
}

void Recovery::report() {
  RecoveryReport& report = done_.report;
  report.min_offset = found_.min_offset;
  report.scanned_from = found_.scanned_from;
  report.end = found_.end;
  report.end_kind = found_.end_kind;
  report.clean_stop = found_.clean_stop;
  report.records_scanned = found_.records_scanned;
  report.damaged = std::move(found_.damaged);
  if (!found_.layout.files.empty() || found_.checkpoint) {
    report.last_writer = found_.java_wrote ? LastWriter::kJava : LastWriter::kKerolox;
  }
  for (const DamagedRange& range : report.damaged) {
    say(Severity::kError, "recovery: rot at " + std::to_string(range.offset.value) + ", " +
                              std::to_string(range.bytes) + " bytes: " + range.fault);
  }
  if (report.cut_bytes > 0) {
    say(Severity::kWarning, "recovery: the log ends at " + std::to_string(report.end.value) + " (" +
                                std::string(name(report.end_kind)) + "); " +
                                std::to_string(report.cut_bytes) +
                                " bytes behind it are saved in " + report.cut_file.string());
  }
}

}  // namespace

Result<RecoveredLog> recover_log(const RecoveryInput& input, CheckpointFiles& checkpoints,
                                 FileSystem& file_system, const Clock& clock) {
  return Recovery(input, checkpoints, file_system, clock).run();
}

}  // namespace kerolox::storage
