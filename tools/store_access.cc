#include "tools/store_access.h"

#include <cstdint>
#include <utility>

#include "kerolox/base/file_system.h"

namespace kerolox::tools {
namespace {

constexpr std::int32_t kBatchRecords = 4096;
constexpr std::int64_t kBatchBytes = std::int64_t{4} << 20;

}  // namespace

Result<std::unique_ptr<storage::ReadOnlyLog>> open_read_only(const std::string& directory) {
  return storage::ReadOnlyLog::open({.directory = directory}, posix_file_system());
}

Result<void> for_each_batch(storage::ReadOnlyLog& log,
                            const std::function<Result<void>(const storage::ReadBatch&)>& visit) {
  storage::ReadBatch batch;
  PhysicalOffset at = log.min_offset();
  while (at < log.end()) {
    KEROLOX_RETURN_IF_ERROR(log.read(at, kBatchRecords, kBatchBytes, batch));
    KEROLOX_RETURN_IF_ERROR(visit(batch));
    if (batch.next_offset() <= at) {
      return Error(ErrorCode::kCorruption, "reading does not get on")
          .at("log at " + std::to_string(at.value));
    }
    at = batch.next_offset();
  }
  return {};
}

std::string_view name(storage::LastWriter writer) {
  switch (writer) {
    case storage::LastWriter::kNobody:
      return "nobody";
    case storage::LastWriter::kKerolox:
      return "kerolox";
    case storage::LastWriter::kJava:
      return "java";
  }
  return "unknown";
}

}  // namespace kerolox::tools
