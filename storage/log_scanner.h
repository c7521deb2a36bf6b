// One pass over records, to where the log ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kerolox/base/result.h"
#include "kerolox/base/types.h"
#include "kerolox/storage/read_batch.h"
#include "kerolox/storage/recovery_report.h"
#include "storage/checkpoint.h"
#include "storage/log_layout.h"
#include "storage/log_reader.h"
#include "storage/queue_table.h"

namespace kerolox::storage {

struct ScanRules {
  PhysicalOffset from;  // a record's begin
  PhysicalOffset end;   // nothing at or above is looked at; a record that reaches over it is not
                        // taken
  std::vector<OwnRange> own_ranges;

  // What is rot, with the log going on behind it, and what is the end: an invalid record is rot if
  PhysicalOffset rot_below;                  // it begins below, or
  std::vector<DamagedRange> known_damage;    // a former run has seen it, or
  std::optional<std::int64_t> rot_until_ms;  // a valid record was stored behind it until then
                                             // (and not before the one in front of it: bytes of
                                             // an older generation are no evidence),
  // and in the last two cases a valid record stands behind it.

  std::function<void(PhysicalOffset)>
      progress;  // told the begin of each further file; may be empty
};

struct ScanResult {
  PhysicalOffset end;
  LogEnd end_kind = LogEnd::kZeros;
  PhysicalOffset last_record{-1};  // -1: none, or a blank stands between it and `end`
  std::uint64_t last_record_hash = 0;
  std::int64_t last_store_timestamp_ms = 0;  // the greatest
  std::int64_t records = 0;
  std::int64_t records_v2 = 0;
  // Of the records taken and their order: two scans that agree in this and in `end` saw the same.
  std::uint64_t digest = 0;
  std::vector<DamagedRange> damaged;
};

// `queues` takes each record into account.
Result<ScanResult> scan_log(const LogLayout& layout, LogBytes& bytes, const ScanRules& rules,
                            QueueTable& queues);

}  // namespace kerolox::storage
