// Next queue offsets, gathered while records are walked in log order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kerolox/base/types.h"
#include "kerolox/storage/message.h"
#include "kerolox/storage/queue_offsets.h"

namespace kerolox::storage {

class QueueTable {
 public:
  // The table that all records below `up_to` leave. Where a record at or above it was walked
  // before, that one is newer.
  void merge(std::span<const NextQueueOffset> offsets, PhysicalOffset up_to);

  // Takes the record's place in its queue into account; prepared and rollback records have none.
  void add(const MessageView& record);

  // By topic, then queue.
  std::vector<NextQueueOffset> list() const;

 private:
  struct Entry {
    QueueOffset next;
    PhysicalOffset record{-1};  // who says so; -1: a table
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view topic) const {
      return std::hash<std::string_view>()(topic);
    }
  };
  Entry& entry(std::string_view topic, QueueId queue);

  std::unordered_map<std::string, std::map<std::int32_t, Entry>, Hash, std::equal_to<>> topics_;
};

}  // namespace kerolox::storage
