#include "kerolox/storage/read_only_log.h"

#include <algorithm>
#include <utility>

#include "storage/damaged_ranges.h"
#include "storage/file_bytes.h"
#include "storage/java_files.h"
#include "storage/java_fitness.h"
#include "storage/log_reader.h"
#include "storage/recovery.h"
#include "storage/store_lock.h"
#include "storage/store_sizes.h"

namespace kerolox::storage {
namespace {

class SurveyedLog final : public ReadOnlyLog {
 public:
  SurveyedLog(std::filesystem::path directory, LogSurvey survey, FileSystem& file_system)
      : directory_(std::move(directory)),
        survey_(std::move(survey)),
        file_system_(file_system),
        bytes_(survey_.layout, file_system) {}

  PhysicalOffset min_offset() const override { return survey_.min_offset; }
  PhysicalOffset end() const override { return survey_.end; }
  std::int64_t file_bytes() const override { return survey_.layout.file_bytes; }

  Result<void> read(PhysicalOffset offset, std::int32_t count_max, std::int64_t bytes_max,
                    ReadBatch& batch) override;
  Result<StoreInfo> info(const std::function<void(PhysicalOffset)>& progress) override;

 private:
  LogReadLimits limits(std::int32_t count_max, std::int64_t bytes_max) const {
    return {.min = survey_.min_offset,
            .end = survey_.end,
            .file_bytes = std::max<std::int64_t>(survey_.layout.file_bytes, 1),
            .count_max = count_max,
            .bytes_max = bytes_max,
            .own_ranges = survey_.rules.own_ranges};
  }
  Result<void> list_files(StoreInfo& info);
  Result<void> walk(const std::function<void(PhysicalOffset)>& progress, StoreInfo& info);
  Result<void> judge(StoreInfo& info);
  void describe_last_run(StoreInfo& info) const;
  Result<bool> has_queues();

  std::filesystem::path directory_;
  LogSurvey survey_;
  FileSystem& file_system_;
  FileBytes bytes_;
};

Result<void> SurveyedLog::read(PhysicalOffset offset, std::int32_t count_max,
                               std::int64_t bytes_max, ReadBatch& batch) {
  const LogReadLimits bounds = limits(count_max, bytes_max);
  KEROLOX_RETURN_IF_ERROR(LogReader::read(bytes_, offset, bounds, batch));
  if (batch.damaged().empty() || batch.damaged().front().offset != offset) {
    return {};
  }
  KEROLOX_ASSIGN_OR_RETURN(const bool begins, record_begins_at(bytes_, offset, bounds));
  if (!begins) {
    batch.clear();
    return Error(ErrorCode::kCorruption, "no record begins there")
        .with_number("physical_offset", offset.value)
        .with_remedy("read from the offset of a record, or from min_offset()");
  }
  return {};
}

Result<StoreInfo> SurveyedLog::info(const std::function<void(PhysicalOffset)>& progress) {
  StoreInfo info;
  KEROLOX_RETURN_IF_ERROR(list_files(info));
  KEROLOX_ASSIGN_OR_RETURN(const StoreSizes sizes, find_store_sizes(directory_, file_system_));
  info.queue_file_bytes = sizes.queue_file_bytes;
  info.index_slots = sizes.index_slots;
  describe_last_run(info);
  KEROLOX_RETURN_IF_ERROR(walk(progress, info));
  KEROLOX_ASSIGN_OR_RETURN(info.locked, StoreLock::held(directory_, file_system_));
  info.owner = StoreLock::owner(directory_, file_system_);
  KEROLOX_RETURN_IF_ERROR(judge(info));
  return info;
}

Result<void> SurveyedLog::list_files(StoreInfo& info) {
  for (const LogFileEntry& entry : survey_.layout.files) {
    KEROLOX_ASSIGN_OR_RETURN(const FileStatus status, file_system_.status(entry.path));
    info.files.push_back({entry.path, entry.base, status.bytes, status.allocated_bytes});
  }
  return {};
}

void SurveyedLog::describe_last_run(StoreInfo& info) const {
  info.file_bytes = survey_.layout.file_bytes;
  info.min_offset = survey_.min_offset;
  info.end = survey_.end;
  info.end_kind = survey_.end_kind;
  info.clean_stop = survey_.clean_stop;
  info.flushed_offset = survey_.min_offset;
  if (survey_.checkpoint) {
    info.flushed_offset = std::clamp(survey_.checkpoint->synced, survey_.min_offset, survey_.end);
    info.record_crc = !survey_.checkpoint->own_ranges.empty() &&
                      survey_.checkpoint->own_ranges.back().end >= survey_.checkpoint->synced;
  }
  if (survey_.missing_was_synced) {
    info.lost_file = log_file_name(*survey_.missing_file);
  }
  if (survey_.checkpoint || !survey_.layout.files.empty()) {
    info.last_writer = survey_.java_wrote ? LastWriter::kJava : LastWriter::kKerolox;
  }
}

Result<void> SurveyedLog::walk(const std::function<void(PhysicalOffset)>& progress,
                               StoreInfo& info) {
  constexpr std::int32_t kCountMax = 4096;
  const LogReadLimits bounds = limits(kCountMax, FileBytes::kWindowBytes);
  std::vector<DamagedRange> damaged = survey_.damaged;
  ReadBatch batch;
  for (PhysicalOffset at = bounds.min; at < bounds.end; at = batch.next_offset()) {
    KEROLOX_RETURN_IF_ERROR(LogReader::read(bytes_, at, bounds, batch));
    info.records_v2 += std::count_if(batch.begin(), batch.end(), [](const MessageView& message) {
      return message.version == 2;
    });
    damaged.insert(damaged.end(), batch.damaged().begin(), batch.damaged().end());
    if (progress) {
      progress(batch.next_offset());
    }
  }
  info.quarantine = merge_damaged(
      survey_.checkpoint ? survey_.checkpoint->quarantine : std::vector<DamagedRange>(), damaged,
      bounds.min, bounds.end);
  return {};
}

Result<void> SurveyedLog::judge(StoreInfo& info) {
  JavaFiles java(directory_, file_system_);
  KEROLOX_ASSIGN_OR_RETURN(info.abort_file, java.abort_exists());
  KEROLOX_ASSIGN_OR_RETURN(const std::optional<JavaCheckpoint> checkpoint, java.load_checkpoint());
  FitnessEvidence evidence{.survey = survey_, .abort_file = info.abort_file};
  KEROLOX_ASSIGN_OR_RETURN(evidence.has_queues, has_queues());
  KEROLOX_ASSIGN_OR_RETURN(evidence.java_scans_from,
                           java_scan_begin(survey_, info.abort_file, checkpoint, file_system_));
  judge_fitness(evidence, info);
  return {};
}

Result<bool> SurveyedLog::has_queues() {
  const auto topics = file_system_.list(directory_ / "consumequeue");
  if (!topics && topics.error().code() == ErrorCode::kNotFound) {
    return false;
  }
  return topics ? Result<bool>(!topics->empty()) : topics.error();
}

}  // namespace

Result<std::unique_ptr<ReadOnlyLog>> ReadOnlyLog::open(ReadOnlyLogOptions options,
                                                       FileSystem& file_system) {
  RecoveryInput input{.directory = options.directory,
                      .log_directories = std::move(options.log_directories)};
  if (input.log_directories.empty()) {
    input.log_directories.push_back(options.directory / "commitlog");
  }
  std::move(options.read_only_log_directories.begin(), options.read_only_log_directories.end(),
            std::back_inserter(input.log_directories));
  KEROLOX_RETURN_IF_ERROR(check_supported(options.directory, false, file_system));
  // A survey takes a missing folder for an empty log; who looks for a store wants to know.
  KEROLOX_RETURN_IF_ERROR(read_log_layout(input.log_directories, 0, file_system));
  KEROLOX_ASSIGN_OR_RETURN(LogSurvey survey, survey_log(input, file_system));
  return std::unique_ptr<ReadOnlyLog>(
      std::make_unique<SurveyedLog>(std::move(options.directory), std::move(survey), file_system));
}

}  // namespace kerolox::storage
