#include "tools/probe_format.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "kerolox/storage/properties.h"
#include "tools/store_access.h"

namespace kerolox::tools {
namespace {

using storage::MessageView;

constexpr std::string_view kScheduleTopic = "SCHEDULE_TOPIC_XXXX";
constexpr std::size_t kMatchesMax = 64;  // RocketMQ's maxMsgsNumBatch
// Seconds of RocketMQ's default messageDelayLevel, level 1 first.
constexpr std::int64_t kDelaySeconds[] = {1,   5,   10,  30,  60,  120,  180,  240,  300,
                                          360, 420, 480, 540, 600, 1200, 1800, 3600, 7200};
constexpr std::int64_t kDelayLevels = std::size(kDelaySeconds);

std::int32_t transaction_type(const MessageView& message) {
  return message.sys_flag & storage::sys_flag::kTransactionMask;
}

// As the index hashes a key: the absolute value, and 0 where that overflows.
std::int32_t index_hash(const std::string& topic, const std::string& key) {
  const std::int32_t hash = storage::java_string_hash(topic + "#" + key);
  return hash == std::numeric_limits<std::int32_t>::min() ? 0 : std::abs(hash);
}

// Java makes an IPv4 address of one that is mapped into IPv6.
std::string java_host(const storage::Host& host) {
  const auto zero_until = std::find_if(host.address.begin(), host.address.end(),
                                       [](std::byte byte) { return byte != std::byte{0}; });
  const bool mapped = host.v6 && zero_until - host.address.begin() == 10 &&
                      host.address[10] == std::byte{0xFF} && host.address[11] == std::byte{0xFF};
  if (!mapped) {
    return host.text();
  }
  storage::Host v4{.port = host.port};
  std::copy(host.address.begin() + 12, host.address.end(), v4.address.begin());
  return v4.text();
}

// The members that every line of a message shares.
void describe(std::string_view type, const MessageView& message, JsonLine& json) {
  std::map<std::string, std::string, JavaLess> properties;
  for (const storage::Property& property : storage::parse_properties(message.properties)) {
    properties[java_text(property.name)] = java_text(property.value);
  }
  // Its value covers the store timestamp, so that only its presence compares.
  const bool record_crc = properties.erase(std::string(storage::property::kRecordCrc)) > 0;
  json.add("type", type)
      .add("topic", java_text(message.topic))
      .add("queueId", message.queue.value)
      .add("queueOffset", message.queue_offset.value)
      .add("physicalOffset", message.offset.value)
      .add("size", message.record_bytes);
  for (const auto& [member, name] :
       {std::pair("tags", storage::property::kTags), std::pair("keys", storage::property::kKeys)}) {
    if (const auto found = properties.find(name); found != properties.end()) {
      json.add(member, found->second);
    }
  }
  json.add("flag", message.flag)
      .add("sysFlag", message.sys_flag)
      .add("bodyBytes", static_cast<std::int64_t>(message.body.size()))
      .add("bodyCRC", std::int64_t{message.body_crc})
      .add("bodySha256", hex_sha256(message.body));
  json.key("properties").begin_object();
  for (const auto& [name, value] : properties) {
    json.add(name, value);
  }
  json.end_object()
      .add("propertyCrc", record_crc)
      .add("bornTimestamp", message.born_timestamp_ms)
      .add("bornHost", java_host(message.born_host))
      .add("storeTimestamp", message.store_timestamp_ms)
      .add("storeHost", java_host(message.store_host))
      .add("reconsumeTimes", message.reconsume_times)
      .add("preparedTransactionOffset", message.prepared_transaction_offset.value);
}

}  // namespace

std::vector<std::string> keys_of(const MessageView& message) {
  std::vector<std::string> keys;
  const auto add = [&keys](std::string_view text) {
    std::string key = java_text(text);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      keys.push_back(std::move(key));
    }
  };
  if (const auto unique = message.property(storage::property::kUniqueKey)) {
    add(*unique);
  }
  for (const std::string_view key : storage::split_keys(message.keys())) {
    add(key);
  }
  return keys;
}

std::int64_t consume_queue_tags_code(const MessageView& message) {
  const auto delay = message.property(storage::property::kDelayLevel);
  if (message.topic == kScheduleTopic && delay) {
    std::int32_t level = 0;
    std::from_chars(delay->data(), delay->data() + delay->size(), level);
    if (level > 0) {
      const std::int64_t known = std::min<std::int64_t>(level, kDelayLevels);
      return message.store_timestamp_ms + kDelaySeconds[known - 1] * 1000;
    }
  }
  return storage::tags_code(java_text(message.tags()));
}

namespace {

std::string number_key(std::string_view topic, std::string_view key) {
  std::string text(topic);
  text.push_back('\0');
  return text.append(key);
}

}  // namespace

void KeyIndex::add_entry(const std::string& topic, const std::string& key, PhysicalOffset offset) {
  const auto [found, added] =
      numbers_.try_emplace(number_key(topic, key), static_cast<KeyNumber>(keys_.size()));
  if (added) {
    keys_.emplace_back(topic, key);
  }
  entries_[index_hash(topic, key)].push_back({offset, found->second});
}

void KeyIndex::add(const MessageView& message) {
  if (transaction_type(message) == storage::sys_flag::kTransactionRollback) {
    return;
  }
  const std::string topic = java_text(message.topic);
  // Not keys_of(): a key that is given twice has two entries.
  if (const auto unique = message.property(storage::property::kUniqueKey)) {
    add_entry(topic, java_text(*unique), message.offset);
  }
  for (const std::string_view key : storage::split_keys(message.keys())) {
    add_entry(topic, java_text(key), message.offset);
  }
}

std::vector<KeyIndex::KeyNumber> KeyIndex::keys_of_message(const MessageView& message) const {
  std::vector<KeyNumber> numbers;
  const std::string topic = java_text(message.topic);
  for (const std::string& key : keys_of(message)) {
    const auto found = numbers_.find(number_key(topic, key));
    if (found != numbers_.end()) {
      numbers.push_back(found->second);
    }
  }
  return numbers;
}

std::vector<PhysicalOffset> KeyIndex::find(KeyNumber key) const {
  const auto& [topic, text] = keys_[key];
  const std::vector<Entry>& entries = entries_.at(index_hash(topic, text));
  std::set<PhysicalOffset> candidates;
  for (std::size_t i = entries.size() - std::min(entries.size(), kMatchesMax); i < entries.size();
       ++i) {
    candidates.insert(entries[i].offset);
  }
  // A record may be found through another of its keys that has the same hash.
  std::set<PhysicalOffset> matches;
  for (const Entry& entry : entries) {
    if (entry.key == key && candidates.contains(entry.offset)) {
      matches.insert(entry.offset);
    }
  }
  return {matches.begin(), matches.end()};
}

bool ProbeExport::QueueName::operator<(const QueueName& other) const {
  return topic == other.topic ? queue < other.queue : java_less(topic, other.topic);
}

// As RocketMQ appends to a consume queue: a record that is behind its queue's end is a repetition,
// one that is ahead goes to the end all the same.
void ProbeExport::dispatch(const MessageView& message) {
  Queue& queue = queues_[{java_text(message.topic), message.queue.value}];
  if (queue.units.empty()) {
    queue.min = message.queue_offset;
  }
  const auto end = queue.min.value + static_cast<std::int64_t>(queue.units.size());
  if (message.queue_offset.value != 0 && message.queue_offset.value < end) {
    undispatched_.push_back({message.offset, true});
    return;
  }
  queue.units.push_back(message.offset);
}

Result<void> ProbeExport::scan(bool all_keys) {
  return for_each_batch(log_, [&](const storage::ReadBatch& batch) -> Result<void> {
    std::vector<LogOnly> damaged;
    for (const storage::DamagedRange& range : batch.damaged()) {
      damaged.push_back({range.offset, false});
    }
    damage_seen_ = damage_seen_ || !damaged.empty();
    for (const MessageView& message : batch) {
      if (storage::sys_flag::takes_queue_offset(message.sys_flag)) {
        dispatch(message);
      } else {
        undispatched_.push_back({message.offset, true});
      }
      if (all_keys) {
        index_.add(message);
      }
    }
    undispatched_.insert(undispatched_.end(), damaged.begin(), damaged.end());
    progress_.reach((batch.next_offset() - log_.min_offset()) / 2);
    return {};
  });
}

void ProbeExport::print_store() {
  const bool has_files = log_.file_bytes() > 0;
  json_.begin_object()
      .add("type", "store")
      .add("minPhyOffset", has_files ? log_.min_offset().value : -1)
      .add("maxPhyOffset", log_.end().value)
      .end_object();
  output_.add(json_.take());
}

void ProbeExport::print_queues() {
  for (const auto& [name, queue] : queues_) {
    json_.begin_object()
        .add("type", "queue")
        .add("topic", name.topic)
        .add("queueId", name.queue)
        .add("minOffset", queue.min.value)
        .add("maxOffset", queue.min.value + static_cast<std::int64_t>(queue.units.size()))
        .end_object();
    output_.add(json_.take());
  }
}

Result<void> ProbeExport::read_record(PhysicalOffset offset, storage::ReadBatch& batch) {
  KEROLOX_RETURN_IF_ERROR(log_.read(offset, 1, 1, batch));
  if (batch.empty() || batch.front().offset != offset) {
    return Error(ErrorCode::kCorruption, "a record changed while it was being exported")
        .at("log at " + std::to_string(offset.value));
  }
  return {};
}

void ProbeExport::print_message(const MessageView& message, const QueueName& queue,
                                QueueOffset queue_offset) {
  json_.begin_object();
  describe("message", message, json_);
  const bool delayed = queue.topic == kScheduleTopic;
  const std::int64_t code = consume_queue_tags_code(message);
  json_.key("consumeQueue")
      .begin_object()
      .add("topic", queue.topic)
      .add("queueId", queue.queue)
      .add("queueOffset", queue_offset.value)
      // Relative to the store time, so that runs compare.
      .add(delayed ? "dueAfterStoreMs" : "tagsCode",
           delayed ? code - message.store_timestamp_ms : code)
      .end_object()
      .end_object();
  output_.add(json_.take());
}

Result<void> ProbeExport::print_messages() {
  storage::ReadBatch batch;
  std::int64_t read_bytes = 0;
  key_seen_.assign(index_.key_count(), false);
  for (const auto& [name, queue] : queues_) {
    QueueOffset queue_offset = queue.min;
    for (const PhysicalOffset offset : queue.units) {
      KEROLOX_RETURN_IF_ERROR(read_record(offset, batch));
      print_message(batch.front(), name, queue_offset);
      ++queue_offset.value;
      for (const KeyIndex::KeyNumber key : index_.keys_of_message(batch.front())) {
        if (!key_seen_[key]) {
          key_seen_[key] = true;
          keys_in_order_.push_back(key);
        }
      }
      read_bytes += batch.front().record_bytes;
      progress_.reach((log_.end() - log_.min_offset() + read_bytes) / 2);
    }
  }
  return {};
}

Result<void> ProbeExport::print_undispatched() {
  std::sort(undispatched_.begin(), undispatched_.end(),
            [](const LogOnly& a, const LogOnly& b) { return a.offset < b.offset; });
  storage::ReadBatch batch;
  for (const LogOnly& record : undispatched_) {
    json_.begin_object();
    if (record.readable) {
      KEROLOX_RETURN_IF_ERROR(read_record(record.offset, batch));
      describe("undispatched", batch.front(), json_);
    } else {
      json_.add("type", "unreadable").add("physicalOffset", record.offset.value);
    }
    json_.end_object();
    output_.add(json_.take());
  }
  return {};
}

void ProbeExport::print_keys() {
  for (const KeyIndex::KeyNumber key : keys_in_order_) {
    json_.begin_object()
        .add("type", "key")
        .add("topic", index_.topic(key))
        .add("key", index_.key(key))
        .key("physicalOffsets")
        .begin_array();
    for (const PhysicalOffset offset : index_.find(key)) {
      json_.number(offset.value);
    }
    json_.end_array().end_object();
    output_.add(json_.take());
  }
}

Result<void> ProbeExport::print(bool all_keys) {
  KEROLOX_RETURN_IF_ERROR(scan(all_keys));
  print_store();
  print_queues();
  KEROLOX_RETURN_IF_ERROR(print_messages());
  KEROLOX_RETURN_IF_ERROR(print_undispatched());
  print_keys();
  return output_.flush();
}

}  // namespace kerolox::tools
