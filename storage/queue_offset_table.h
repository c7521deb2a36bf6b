// The next queue offset of every queue, handed out inside the append's critical section.
//
// Threads: one at a time (the critical section), except that the keys that changes() names may be
// read by whoever got them: they are never removed while the log is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kerolox/base/types.h"
#include "kerolox/storage/queue_offsets.h"

namespace kerolox::storage {

class QueueOffsetTable {
 public:
  // A topic and queue with their hash, so that hashing happens outside the critical section.
  struct Key {
    std::string_view topic;
    QueueId queue;
    std::size_t hash = 0;

    Key(std::string_view key_topic, QueueId key_queue);
  };

  void load(const std::vector<NextQueueOffset>& offsets);

  QueueOffset next(const Key& key) const;
  // Hands out the next offset and moves on by one.
  QueueOffset take(const Key& key);
  // What a record that was appended as it is tells: the next is at least `next`.
  void raise(const Key& key, QueueOffset next);
  // What a record that is cut off tells: the next is at most `next`.
  void lower(const Key& key, QueueOffset next);

  struct Change {
    const std::string* topic = nullptr;
    QueueId queue;
    QueueOffset next;
  };
  // Appends the queues that have changed since the last call to `changes`, with their present
  // offsets.
  void take_changes(std::vector<Change>& changes);
  // They could not be saved: the next call names them again.
  void give_back(const std::vector<Change>& changes);

 private:
  struct StoredKey {
    std::string topic;
    QueueId queue;
    std::size_t hash = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const { return key.hash; }
    std::size_t operator()(const StoredKey& key) const { return key.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const StoredKey& a, const StoredKey& b) const {
      return a.queue == b.queue && a.topic == b.topic;
    }
    bool operator()(const Key& a, const StoredKey& b) const {
      return a.queue == b.queue && a.topic == b.topic;
    }
    bool operator()(const StoredKey& a, const Key& b) const { return (*this)(b, a); }
  };
  struct State {
    QueueOffset next;
    bool changed = false;
  };
  using Map = std::unordered_map<StoredKey, State, Hash, Equal>;

  Map::value_type& entry(const Key& key);
  void set(Map::value_type& entry, QueueOffset next);

  Map entries_;
  std::vector<Map::value_type*> changed_;
};

}  // namespace kerolox::storage
