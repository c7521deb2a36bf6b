// What `refcluster storeprobe dump` prints for a store, computed from its log alone: consume queues
// and index are replayed as RocketMQ fills them. For a store whose writer was killed: what recovery
// will keep.
//
// Lines: `store`; `queue` for each queue that has anything; `message` in order of topic, queue and
// queue offset; `undispatched` for records that are in no queue, in log order; with all keys, `key`
// for each key seen, with what the index would find. A damaged range of the log is an `unreadable`
// line in its place among the undispatched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kerolox/base/result.h"
#include "kerolox/storage/read_only_log.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/text.h"

namespace kerolox::tools {

// The unique key and the keys of a message, each once, in the order in which RocketMQ indexes them.
std::vector<std::string> keys_of(const storage::MessageView& message);

// The third field of its consume queue unit: hash of its tags, or when a delayed one is due.
std::int64_t consume_queue_tags_code(const storage::MessageView& message);

// Which records a key query finds. The index knows hashes only and a query takes the newest 64
// entries of a hash, so that many entries of one hash hide each other.
class KeyIndex {
 public:
  using KeyNumber = std::uint32_t;

  void add(const storage::MessageView& message);
  // Of a message that was added.
  std::vector<KeyNumber> keys_of_message(const storage::MessageView& message) const;

  std::string_view topic(KeyNumber key) const { return keys_[key].first; }
  std::string_view key(KeyNumber key) const { return keys_[key].second; }
  std::size_t key_count() const { return keys_.size(); }
  std::vector<PhysicalOffset> find(KeyNumber key) const;  // ascending, each once

 private:
  struct Entry {
    PhysicalOffset offset;
    KeyNumber key;
  };
  void add_entry(const std::string& topic, const std::string& key, PhysicalOffset offset);

  std::vector<std::pair<std::string, std::string>> keys_;         // topic and key
  std::unordered_map<std::string, KeyNumber> numbers_;            // by topic, a zero byte, key
  std::unordered_map<std::int32_t, std::vector<Entry>> entries_;  // by hash, oldest first
};

class ProbeExport {
 public:
  ProbeExport(storage::ReadOnlyLog& log, Output& output, Progress& progress)
      : log_(log), output_(output), progress_(progress) {}

  Result<void> print(bool all_keys);

  bool damage_seen() const { return damage_seen_; }

 private:
  struct Queue {
    QueueOffset min;                    // of the first unit
    std::vector<PhysicalOffset> units;  // the records that they point at
  };
  struct QueueName {
    std::string topic;
    std::int32_t queue = 0;
    bool operator<(const QueueName& other) const;
  };
  struct LogOnly {
    PhysicalOffset offset;
    bool readable = true;
  };

  Result<void> scan(bool all_keys);
  void dispatch(const storage::MessageView& message);
  void print_store();
  void print_queues();
  Result<void> print_messages();
  Result<void> print_undispatched();
  void print_keys();
  void print_message(const storage::MessageView& message, const QueueName& queue,
                     QueueOffset queue_offset);
  Result<void> read_record(PhysicalOffset offset, storage::ReadBatch& batch);

  storage::ReadOnlyLog& log_;
  Output& output_;
  Progress& progress_;
  JsonLine json_{JsonLine::Escapes::kFastjson};
  std::map<QueueName, Queue> queues_;
  std::vector<LogOnly> undispatched_;
  KeyIndex index_;
  std::vector<KeyIndex::KeyNumber> keys_in_order_;
  std::vector<bool> key_seen_;
  bool damage_seen_ = false;
};

}  // namespace kerolox::tools
