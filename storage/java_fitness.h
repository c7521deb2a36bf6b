// Whether a Java broker may open a store as it is now: judged by what its recovery would do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/read_only_log.h"
#include "storage/java_files.h"
#include "storage/recovery.h"

namespace kerolox::storage {

struct FitnessEvidence {
  const LogSurvey& survey;
  bool abort_file = false;
  bool has_queues = false;         // consume queues are there
  PhysicalOffset java_scans_from;  // where Java's recovery would begin to read the log
};

// Where a Java broker of any line begins, at the latest that we may assume: after an unclean stop
// by its checkpoint's time, after a clean one at most three files before the end.
Result<PhysicalOffset> java_scan_begin(const LogSurvey& survey, bool abort_file,
                                       const std::optional<JavaCheckpoint>& checkpoint,
                                       FileSystem& file_system);

// Fills the two lists of reasons from what the other members of `info` and `evidence` say.
void judge_fitness(const FitnessEvidence& evidence, StoreInfo& info);

}  // namespace kerolox::storage
