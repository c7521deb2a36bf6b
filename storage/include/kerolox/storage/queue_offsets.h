// The next queue offset of each queue: what the log's critical section hands out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/api.h"
#include "kerolox/base/result.h"
#include "kerolox/base/types.h"

namespace kerolox::storage {

struct NextQueueOffset {
  std::string topic;
  QueueId queue;
  QueueOffset next;  // what the next message of the queue gets

  friend bool operator==(const NextQueueOffset&, const NextQueueOffset&) = default;
};

// Somebody who knows them without reading the whole log: consume queues, a journal.
class KEROLOX_API QueueOffsetSource {
 public:
  virtual ~QueueOffsetSource() = default;

  struct Known {
    // The table holds what all records below this offset leave; the log replays the rest.
    PhysicalOffset up_to;
    std::vector<NextQueueOffset> offsets;
  };
  // Called once, in open(), before any append. `log_end` is where recovery ends the log.
  virtual Result<Known> load(PhysicalOffset log_end) = 0;
};

}  // namespace kerolox::storage
