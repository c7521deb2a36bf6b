#include <string>

#include "kerolox/storage/commit_log.h"
#include "kerolox/storage/record.h"
#include "storage/store_sizes.h"

namespace kerolox::storage {
namespace {

constexpr std::int64_t kFileBytesMin = 4096;
constexpr std::int64_t kIndexSlotsMax = 25'000'000;  // an index file's length is a signed i32
constexpr std::int64_t kBodyBytesLimit = std::int64_t{1} << 30;  // a record's size is a signed i32

bool is_wait(std::chrono::milliseconds wait) { return wait.count() > 0 && wait <= kWaitMax; }

}  // namespace

Result<void> CommitLogOptions::validate() const {
  std::string faults;
  const auto check = [&faults](bool good, const char* fault) {
    if (!good) {
      faults.append(faults.empty() ? "" : "; ").append(fault);
    }
  };
  check(!directory.empty(), "directory is empty");
  check(file_bytes == 0 || file_bytes >= kFileBytesMin, "file_bytes is less than 4096");
  check(file_bytes % kFileBytesMin == 0, "file_bytes is no multiple of 4096");
  check(queue_file_bytes >= 0 && queue_file_bytes % kQueueUnitBytes == 0,
        "queue_file_bytes is negative or no multiple of 20");
  check(index_slots >= 0 && index_slots <= kIndexSlotsMax,
        "index_slots is outside 0 to 25,000,000");
  check(replica_count >= 0, "replica_count is negative");
  check((replica_level == ReplicaLevel::kNone) == (replica_count == 0),
        "replica_count must be at least 1 with a replica_level, and 0 without");
  check(is_wait(flush_interval), "flush_interval is outside 1 ms to 1 year");
  check(flush_bytes > 0, "flush_bytes is not positive");
  check(is_wait(sync_timeout), "sync_timeout is outside 1 ms to 1 year");
  check(is_wait(replica_timeout), "replica_timeout is outside 1 ms to 1 year");
  check(body_bytes_max > 0 && body_bytes_max <= kBodyBytesLimit,
        "body_bytes_max is outside 1 byte to 1 GiB");
  check(tickets_max > 0, "tickets_max is not positive");
  if (faults.empty()) {
    return {};
  }
  return Error(ErrorCode::kInvalidArgument, "the options are wrong: " + faults)
      .at(directory.string())
      .with_remedy("see CommitLogOptions");
}

}  // namespace kerolox::storage
