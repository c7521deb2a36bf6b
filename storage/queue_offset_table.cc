#include "storage/queue_offset_table.h"

#include <algorithm>

#include "storage/hash.h"

namespace kerolox::storage {

QueueOffsetTable::Key::Key(std::string_view key_topic, QueueId key_queue)
    : topic(key_topic),
      queue(key_queue),
      hash(static_cast<std::size_t>(xxh3_64(std::as_bytes(std::span(key_topic)))) ^
           (static_cast<std::size_t>(key_queue.value) * 0x9E3779B97F4A7C15u)) {}

void QueueOffsetTable::load(const std::vector<NextQueueOffset>& offsets) {
  entries_.clear();
  changed_.clear();
  entries_.reserve(offsets.size());
  for (const NextQueueOffset& offset : offsets) {
    raise(Key(offset.topic, offset.queue), offset.next);
  }
}

QueueOffset QueueOffsetTable::next(const Key& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? QueueOffset{0} : found->second.next;
}

QueueOffset QueueOffsetTable::take(const Key& key) {
  Map::value_type& found = entry(key);
  const QueueOffset taken = found.second.next;
  set(found, QueueOffset{taken.value + 1});
  return taken;
}

void QueueOffsetTable::raise(const Key& key, QueueOffset next) {
  Map::value_type& found = entry(key);
  set(found, std::max(found.second.next, next));
}

void QueueOffsetTable::lower(const Key& key, QueueOffset next) {
  Map::value_type& found = entry(key);
  set(found, std::min(found.second.next, next));
}

void QueueOffsetTable::take_changes(std::vector<Change>& changes) {
  for (Map::value_type* changed : changed_) {
    changed->second.changed = false;
    changes.push_back({.topic = &changed->first.topic,
                       .queue = changed->first.queue,
                       .next = changed->second.next});
  }
  changed_.clear();
}

void QueueOffsetTable::give_back(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    Map::value_type& found = entry(Key(*change.topic, change.queue));
    set(found, found.second.next);
  }
}

QueueOffsetTable::Map::value_type& QueueOffsetTable::entry(const Key& key) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) {
    return *found;
  }
  StoredKey stored{.topic = std::string(key.topic), .queue = key.queue, .hash = key.hash};
  return *entries_.emplace(std::move(stored), State{}).first;
}

void QueueOffsetTable::set(Map::value_type& entry, QueueOffset next) {
  entry.second.next = next;
  if (!entry.second.changed) {
    entry.second.changed = true;
    changed_.push_back(&entry);
  }
}

}  // namespace kerolox::storage
