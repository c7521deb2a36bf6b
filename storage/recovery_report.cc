#include "kerolox/storage/recovery_report.h"

namespace kerolox::storage {

std::string_view name(LogEnd end) {
  switch (end) {
    case LogEnd::kEmpty:
      return "empty";
    case LogEnd::kClean:
      return "clean";
    case LogEnd::kZeros:
      return "zeros";
    case LogEnd::kTornRecord:
      return "torn_record";
    case LogEnd::kStaleRecord:
      return "stale_record";
    case LogEnd::kAfterBlank:
      return "after_blank";
    case LogEnd::kMissingFile:
      return "missing_file";
    case LogEnd::kForeignBytes:
      return "foreign_bytes";
  }
  return "unknown";
}

}  // namespace kerolox::storage
