#include "storage/queue_table.h"

#include <algorithm>
#include <tuple>

namespace kerolox::storage {

QueueTable::Entry& QueueTable::entry(std::string_view topic, QueueId queue) {
  auto found = topics_.find(topic);
  if (found == topics_.end()) {
    found = topics_.emplace(std::string(topic), std::map<std::int32_t, Entry>()).first;
  }
  return found->second[queue.value];
}

void QueueTable::merge(std::span<const NextQueueOffset> offsets, PhysicalOffset up_to) {
  for (const NextQueueOffset& known : offsets) {
    Entry& ours = entry(known.topic, known.queue);
    if (ours.record < up_to) {
      ours = {known.next, PhysicalOffset{-1}};
    }
  }
}

void QueueTable::add(const MessageView& record) {
  if (sys_flag::takes_queue_offset(record.sys_flag)) {
    entry(record.topic, record.queue) = {QueueOffset{record.queue_offset.value + 1}, record.offset};
  }
}

std::vector<NextQueueOffset> QueueTable::list() const {
  std::vector<NextQueueOffset> listed;
  for (const auto& [topic, queues] : topics_) {
    for (const auto& [queue, known] : queues) {
      listed.push_back({topic, QueueId{queue}, known.next});
    }
  }
  std::sort(listed.begin(), listed.end(), [](const NextQueueOffset& a, const NextQueueOffset& b) {
    return std::tie(a.topic, a.queue) < std::tie(b.topic, b.queue);
  });
  return listed;
}

}  // namespace kerolox::storage
