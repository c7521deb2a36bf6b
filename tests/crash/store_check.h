// Judges a store after its writer, or the disk under it, was stopped in full flow: against what the
// writer said was acknowledged, and against what every log must be (promise P1).
//
// Faults are returned as text, not asserted: the control needs a store that is found guilty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crash/writer_protocol.h"
#include "kerolox/storage/commit_log.h"

namespace kerolox::crash {

struct CheckOptions {
  std::filesystem::path store;
  std::int64_t file_bytes = 0;  // for a writer that died before it had made the store
  std::int64_t body_bytes = 300;
  // Of the acknowledgements, those below this level may be missing: after a power cut, memory.
  storage::LocalLevel acknowledged_level = storage::LocalLevel::kMemory;
};

// What one walk over a log found.
struct LogContent {
  struct Record {
    MessageName name;
    std::int64_t queue_offset = 0;
    std::int64_t record_bytes = 0;
  };
  std::map<std::int64_t, Record> records;  // by physical offset
  std::map<std::pair<std::string, std::int32_t>, std::int64_t> next_queue_offsets;
  std::int64_t end = 0;
};

// Recovers the store, which nobody has open, and checks all of it; recovers it again, and checks
// that this changes nothing. Leaves it closed. Empty: no fault.
std::vector<std::string> faults_of(const CheckOptions& options,
                                   const std::vector<WriterReport>& acknowledged);

// The parts of the above, for tests that hold the log open themselves.
LogContent read_log(storage::CommitLog& log, std::int64_t body_bytes,
                    std::vector<std::string>& faults);
void check_acknowledged(const LogContent& content, const std::vector<WriterReport>& acknowledged,
                        storage::LocalLevel level, std::vector<std::string>& faults);

// Each file's length and a hash of its bytes, by path; of what a restart always rewrites (our own
// checkpoint with its sequence number, and the owner stamp) only that it is there.
std::map<std::string, std::string> snapshot(const std::filesystem::path& directory);

}  // namespace kerolox::crash
