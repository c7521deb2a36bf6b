#include "crash/store_check.h"

#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>

#include "kerolox/base/file_system.h"
#include "kerolox/storage/read_only_log.h"
#include "storage/hash.h"

namespace kerolox::crash {
namespace {

using storage::CommitLog;
using storage::MessageView;

constexpr std::size_t kFaultsMax = 20;  // the first ones say what is wrong

template <typename... Parts>
void add_fault(std::vector<std::string>& faults, const Parts&... parts) {
  if (faults.size() < kFaultsMax) {
    std::ostringstream text;
    (text << ... << parts);
    faults.push_back(text.str());
  }
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Walks the records in order, so that whatever is missing or out of place shows at the first record
// behind it.
class LogWalk {
 public:
  LogWalk(std::int64_t body_bytes, std::vector<std::string>& faults)
      : body_bytes_(body_bytes), faults_(faults) {}

  void visit(const MessageView& message) {
    const std::optional<MessageName> name = MessageName::parse(message.keys());
    if (!name) {
      add_fault(faults_, "at ", message.offset.value, ": a message that nobody wrote, key ",
                message.keys());
      return;
    }
    check_body(message);
    check_order(message, *name);
    content_.records[message.offset.value] = {*name, message.queue_offset.value,
                                              message.record_bytes};
  }
  LogContent finish(PhysicalOffset end) {
    content_.end = end.value;
    return std::move(content_);
  }

 private:
  void check_body(const MessageView& message) {
    if (text_of(message.body) != body_of(std::string(message.keys()), body_bytes_)) {
      add_fault(faults_, "at ", message.offset.value, ": not the body that was appended, key ",
                message.keys());
    }
  }
  void check_order(const MessageView& message, const MessageName& name) {
    std::int64_t& next =
        content_.next_queue_offsets[{std::string(message.topic), message.queue.value}];
    if (message.queue_offset.value != next) {
      add_fault(faults_, "at ", message.offset.value, ": queue offset ", message.queue_offset.value,
                " of ", message.topic, " where ", next, " is due");
    }
    next = message.queue_offset.value + 1;
    std::int64_t& number = next_numbers_[{name.run, name.thread}];
    if (name.number != number) {
      add_fault(faults_, "at ", message.offset.value, ": message ", message.keys(),
                " where number ", number, " is due");
    }
    number = name.number + 1;
    if (message.store_timestamp_ms < store_timestamp_ms_) {
      add_fault(faults_, "at ", message.offset.value, ": store timestamps run backwards");
    }
    store_timestamp_ms_ = message.store_timestamp_ms;
  }

  const std::int64_t body_bytes_;
  std::vector<std::string>& faults_;
  LogContent content_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> next_numbers_;
  std::int64_t store_timestamp_ms_ = 0;
};

// Behind the end: nothing but zeros, in the last file and in all later ones.
void check_nothing_behind(const CheckOptions& options, PhysicalOffset end,
                          std::vector<std::string>& faults) {
  const std::filesystem::path log_directory = options.store / "commitlog";
  if (!std::filesystem::exists(log_directory)) {
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator(log_directory)) {
    const std::int64_t base = std::stoll(entry.path().filename().string());
    const std::int64_t from = std::max<std::int64_t>(end.value - base, 0);
    const auto bytes = static_cast<std::int64_t>(entry.file_size());
    if (from >= bytes) {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    file.seekg(from);
    std::vector<char> rest(static_cast<std::size_t>(bytes - from));
    file.read(rest.data(), static_cast<std::streamsize>(rest.size()));
    const auto found = std::find_if(rest.begin(), rest.end(), [](char byte) { return byte != 0; });
    if (!file || found != rest.end()) {
      add_fault(faults, entry.path().filename().string(), " at ", from + (found - rest.begin()),
                ": bytes behind the end of the log, ", end.value);
    }
  }
}

struct Opened {
  LogContent content;
  storage::RecoveryReport report;
};

// Opens, walks, compares, closes.
Opened restart(const CheckOptions& options, const std::vector<WriterReport>& acknowledged,
               std::vector<std::string>& faults) {
  Opened opened;
  Result<std::unique_ptr<CommitLog>> log =
      CommitLog::open({.directory = options.store, .file_bytes = options.file_bytes});
  if (!log) {
    add_fault(faults, "does not open: ", log.error().text());
    return opened;
  }
  opened.report = (*log)->recovery_report();
  opened.content = read_log(**log, options.body_bytes, faults);
  check_acknowledged(opened.content, acknowledged, options.acknowledged_level, faults);
  check_nothing_behind(options, (*log)->filled_offset(), faults);
  for (const auto& [queue, next] : opened.content.next_queue_offsets) {
    const QueueOffset offered = (*log)->next_queue_offset(queue.first, QueueId{queue.second});
    if (offered.value != next) {
      add_fault(faults, "next queue offset of ", queue.first, " ", queue.second, " is ",
                offered.value, ", the log's records leave ", next);
    }
  }
  if (!opened.report.damaged.empty() || !(*log)->quarantine().empty()) {
    add_fault(faults, "quarantined: ", opened.report.damaged.size(), " ranges");
  }
  if (const Result<void> closed = (*log)->close({}); !closed) {
    add_fault(faults, "does not close: ", closed.error().text());
  }
  return opened;
}

// Where a look without recovery says that the log will end. Nothing: the store has no log yet.
std::optional<PhysicalOffset> foreseen_end(const CheckOptions& options,
                                           std::vector<std::string>& faults) {
  const auto before = snapshot(options.store);
  const auto log = storage::ReadOnlyLog::open({.directory = options.store}, posix_file_system());
  if (!log) {
    if (log.error().code() != ErrorCode::kNotFound) {
      add_fault(faults, "cannot be looked at: ", log.error().text());
    }
    return std::nullopt;
  }
  const PhysicalOffset end = (*log)->end();
  if (snapshot(options.store) != before) {
    add_fault(faults, "a look at the store changed it");
  }
  return end;
}

void compare(const std::map<std::string, std::string>& before,
             const std::map<std::string, std::string>& after, std::vector<std::string>& faults) {
  for (const auto& [path, state] : before) {
    const auto found = after.find(path);
    if (found == after.end() || found->second != state) {
      add_fault(faults, "a second restart changed ", path, " from ", state, " to ",
                found == after.end() ? "nothing" : found->second);
    }
  }
  for (const auto& [path, state] : after) {
    if (!before.contains(path)) {
      add_fault(faults, "a second restart made ", path);
    }
  }
}

}  // namespace

LogContent read_log(CommitLog& log, std::int64_t body_bytes, std::vector<std::string>& faults) {
  LogWalk walk(body_bytes, faults);
  storage::ReadBatch batch;
  PhysicalOffset offset = log.min_offset();
  while (offset < log.filled_offset()) {
    const Result<void> read =
        log.read(offset, {.count_max = 1024, .limit = storage::ReadOptions::Limit::kFilled}, batch);
    if (!read) {
      add_fault(faults, "at ", offset.value, ": ", read.error().text());
      break;
    }
    for (const MessageView& message : batch) {
      walk.visit(message);
    }
    for (const storage::DamagedRange& damage : batch.damaged()) {
      add_fault(faults, "at ", damage.offset.value, ": damage, ", damage.fault);
    }
    if (batch.next_offset() <= offset) {
      add_fault(faults, "at ", offset.value, ": reading does not get on");
      break;
    }
    offset = batch.next_offset();
  }
  return walk.finish(log.filled_offset());
}

void check_acknowledged(const LogContent& content, const std::vector<WriterReport>& acknowledged,
                        storage::LocalLevel level, std::vector<std::string>& faults) {
  for (const WriterReport& report : acknowledged) {
    if (report.level < level) {
      continue;
    }
    auto found = content.records.find(report.offset);
    for (std::int64_t index = 0; index < report.message_count; ++index, ++found) {
      const MessageName name{report.name.run, report.name.thread, report.name.number + index};
      if (found == content.records.end() || found->second.name != name ||
          found->second.queue_offset != report.queue_offset + index) {
        add_fault(faults, "acknowledged and missing: message ", name.key(), " at ", report.offset,
                  index > 0 ? " (of its batch)" : "", "; the log ends at ", content.end);
        break;
      }
    }
  }
}

std::map<std::string, std::string> snapshot(const std::filesystem::path& directory) {
  std::map<std::string, std::string> state;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string path = entry.path().lexically_relative(directory).string();
    if (entry.is_directory()) {
      state[path] = "a directory";
    } else if (path.starts_with("kerolox/checkpoint-") || path == "kerolox/owner") {
      state[path] = "a file";
    } else {
      std::ifstream file(entry.path(), std::ios::binary);
      std::vector<char> bytes(static_cast<std::size_t>(entry.file_size()));
      file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      state[path] = std::to_string(bytes.size()) + " bytes, hash " +
                    std::to_string(storage::xxh3_64(std::as_bytes(std::span(bytes))));
    }
  }
  return state;
}

std::vector<std::string> faults_of(const CheckOptions& options,
                                   const std::vector<WriterReport>& acknowledged) {
  std::vector<std::string> faults;
  std::filesystem::create_directories(options.store);
  const std::optional<PhysicalOffset> foreseen = foreseen_end(options, faults);
  const Opened first = restart(options, acknowledged, faults);
  if (foreseen && foreseen->value != first.content.end) {
    add_fault(faults, "a look at the store promised an end of ", foreseen->value,
              ", recovery ends the log at ", first.content.end);
  }
  if (!faults.empty()) {
    return faults;
  }
  const auto before = snapshot(options.store);
  const Opened second = restart(options, acknowledged, faults);
  compare(before, snapshot(options.store), faults);
  if (second.content.end != first.content.end || second.report.cut_bytes != 0 ||
      second.report.rewritten_bytes != 0 || second.report.removed_files != 0 ||
      !second.report.clean_stop) {
    add_fault(faults, "a second restart ended the log at ", second.content.end, " instead of ",
              first.content.end, ", cut ", second.report.cut_bytes, " bytes");
  }
  return faults;
}

}  // namespace kerolox::crash
