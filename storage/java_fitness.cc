#include "storage/java_fitness.h"

#include <algorithm>

#include "storage/file_bytes.h"
#include "storage/record_cursor.h"

namespace kerolox::storage {
namespace {

constexpr std::int64_t kJavaMarginMs = 3000;
constexpr std::size_t kJavaFilesAfterCleanStop = 3;

// The last file whose first record was stored until `until_ms`; the first file if there is none.
Result<PhysicalOffset> scan_begin_by_time(const LogSurvey& survey, std::int64_t until_ms,
                                          FileSystem& file_system) {
  FileBytes bytes(survey.layout, file_system);
  RecordCursor cursor(bytes, survey.layout.file_bytes, survey.end, {});
  const std::vector<LogFileEntry>& files = survey.layout.files;
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (file->base >= survey.end) {
      continue;
    }
    KEROLOX_ASSIGN_OR_RETURN(const DecodedRecord first, cursor.at(file->base));
    if (first.kind == RecordKind::kRecord && first.view.store_timestamp_ms != 0 &&
        first.view.store_timestamp_ms <= until_ms) {
      return file->base;
    }
  }
  return survey.min_offset;
}

std::string at(PhysicalOffset offset) { return std::to_string(offset.value); }

void judge_our_last_run(const LogSurvey& survey, std::vector<std::string>& reasons) {
  if (survey.java_wrote || survey.layout.files.empty()) {
    return;
  }
  if (survey.checkpoint && survey.checkpoint->cut_to) {
    reasons.push_back("a truncation to " + at(*survey.checkpoint->cut_to) +
                      " is not finished, and a Java broker would bring back what it takes away: "
                      "open and close the store with kerolox first");
  } else if (!survey.clean_stop) {
    reasons.push_back(
        "the last run did not close it, and a Java broker would neither prove what is above " +
        at(survey.checkpoint ? survey.checkpoint->synced : survey.min_offset) +
        " to be on disk nor clear what lies behind the end: open and close it with kerolox first");
  } else if (survey.end_kind != LogEnd::kClean && survey.end_kind != LogEnd::kZeros &&
             survey.end_kind != LogEnd::kAfterBlank) {
    reasons.push_back("bytes lie behind the end (" + std::string(name(survey.end_kind)) + " at " +
                      at(survey.end) +
                      "), which a Java broker would leave for later records to run into: open and "
                      "close it with kerolox first");
  }
}

void judge_queues(const FitnessEvidence& evidence, std::vector<std::string>& reasons) {
  if (evidence.has_queues || evidence.survey.end == evidence.survey.min_offset) {
    return;
  }
  if (!evidence.abort_file) {
    reasons.push_back(
        "the consume queues are missing but `abort` is not there: a Java broker up to 5.3.1 would "
        "take the stop for clean and never build them; open and close it with kerolox first");
  } else if (evidence.java_scans_from > evidence.survey.min_offset) {
    reasons.push_back(
        "the consume queues are missing and `checkpoint` makes a Java broker build "
        "them from " +
        at(evidence.java_scans_from) +
        " on only, so that older messages stay unseen: "
        "remove `checkpoint`");
  }
}

void judge_damage(const FitnessEvidence& evidence, const StoreInfo& info,
                  std::vector<std::string>& reasons) {
  const auto met = std::find_if(info.quarantine.begin(), info.quarantine.end(),
                                [&evidence](const DamagedRange& range) {
                                  return range.offset + range.bytes > evidence.java_scans_from;
                                });
  if (met != info.quarantine.end()) {
    reasons.push_back("the log is damaged at " + at(met->offset) + " (" + met->fault +
                      "), where a Java broker would end it and delete all that is behind: restore "
                      "that part from a replica first");
  }
}

}  // namespace

Result<PhysicalOffset> java_scan_begin(const LogSurvey& survey, bool abort_file,
                                       const std::optional<JavaCheckpoint>& checkpoint,
                                       FileSystem& file_system) {
  const std::vector<LogFileEntry>& files = survey.layout.files;
  if (!abort_file) {
    return files.size() > kJavaFilesAfterCleanStop
               ? files[files.size() - kJavaFilesAfterCleanStop].base
               : survey.min_offset;
  }
  const JavaCheckpoint known = checkpoint.value_or(JavaCheckpoint());
  return scan_begin_by_time(
      survey, std::min(known.physic_timestamp_ms, known.logics_timestamp_ms) - kJavaMarginMs,
      file_system);
}

void judge_fitness(const FitnessEvidence& evidence, StoreInfo& info) {
  std::vector<std::string> reasons;
  if (info.locked) {
    reasons.push_back("a process has it open" +
                      (info.owner.empty() ? "" : " (" + info.owner + ")") +
                      ": a Java broker deletes and cuts files before it tries the lock");
  }
  if (evidence.survey.missing_file) {
    reasons.push_back(
        "the log file " + log_file_name(*evidence.survey.missing_file) +
        " is missing: a Java broker would read on in the next file as if nothing were "
        "between");
  }
  if (!info.locked) {  // else it is not over
    judge_our_last_run(evidence.survey, reasons);
  }
  judge_queues(evidence, reasons);
  judge_damage(evidence, info, reasons);
  info.unfit_for_java_5 = reasons;
  if (info.records_v2 > 0) {
    reasons.push_back("it holds " + std::to_string(info.records_v2) +
                      " records of version 2 (topics of more than 127 bytes), where a broker of "
                      "4.9 would end the log");
  }
  info.unfit_for_java_49 = std::move(reasons);
}

}  // namespace kerolox::storage
