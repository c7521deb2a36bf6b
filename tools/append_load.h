// Producers that append one message over and over and time each append up to its acknowledgement.
//
// The loop allocates nothing, and reads the clock about once a message, so that it measures the log
// and not itself.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kerolox/base/result.h"
#include "kerolox/storage/commit_log.h"
#include "tools/latency_histogram.h"

namespace kerolox::tools {

struct AppendLoadOptions {
  std::size_t message_bytes = 1024;
  int threads = 1;
  int in_flight = 1;          // of each thread; 1: append_and_wait
  std::int64_t messages = 0;  // of all threads together
  double seconds_max = 0;     // 0: no limit
  std::string topic = "bench";
};

struct AppendLoadResult {
  std::int64_t messages = 0;
  double seconds = 0;  // from the first append to the last acknowledgement
  std::int64_t timed_out = 0;
  LatencyHistogram latencies;
};

// Thread n appends to queue n of the topic. `watch` is called on the calling thread several times a
// second with the messages appended so far. Errors: the first that an append met.
Result<AppendLoadResult> run_append_load(storage::CommitLog& log, const AppendLoadOptions& options,
                                         const std::function<void(std::int64_t)>& watch);

}  // namespace kerolox::tools
