// kerolox store verify: reads every record and says what is wrong.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kerolox/base/clock.h"
#include "tools/command.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/store_access.h"

namespace kerolox::tools {
namespace {

using storage::LogEnd;
using storage::StoreInfo;

struct Findings {
  std::int64_t records = 0;
  std::int64_t record_bytes = 0;
  std::vector<storage::DamagedRange> damaged;
  std::vector<std::string> problems;  // beside the damage
  std::vector<std::string> notes;     // worth knowing, no fault
};

// Where the log ends is a fault only if a stop was clean: a writer that is running, or was killed,
// leaves whatever it had half done, and recovery cuts it.
void judge_end(const StoreInfo& info, Findings& findings) {
  if (!info.lost_file.empty()) {
    findings.problems.push_back("the log file " + info.lost_file +
                                " is missing, and held records that were on disk: restore it from "
                                "a backup or a replica");
  }
  const std::string end = "the log ends at " + std::to_string(info.end.value) + ": " +
                          std::string(storage::name(info.end_kind));
  switch (info.end_kind) {
    case LogEnd::kEmpty:
    case LogEnd::kClean:
    case LogEnd::kZeros:
    case LogEnd::kAfterBlank:
      break;
    case LogEnd::kMissingFile:
      findings.problems.push_back(end + "; later files are there, but cannot be reached");
      break;
    case LogEnd::kStaleRecord:
      findings.notes.push_back(end + "; recovery clears what is behind it");
      break;
    case LogEnd::kTornRecord:
    case LogEnd::kForeignBytes: {
      const bool stopped_cleanly =
          !info.locked &&
          (info.last_writer == storage::LastWriter::kJava ? !info.abort_file : info.clean_stop);
      (stopped_cleanly ? findings.problems : findings.notes)
          .push_back(end + (info.locked ? "; its writer is running"
                                        : "; recovery saves what is behind it, and cuts it off"));
      break;
    }
  }
}

// Queue offsets that do not follow each other: a deleted and re-created topic, or lost messages.
class QueueOrder {
 public:
  void check(const storage::MessageView& message, std::vector<std::string>& notes) {
    if (!storage::sys_flag::takes_queue_offset(message.sys_flag) ||
        (message.sys_flag & storage::sys_flag::kInnerBatch) != 0) {
      return;
    }
    const auto [found, first] =
        next_.try_emplace({std::string(message.topic), message.queue.value}, message.queue_offset);
    if (found->second != message.queue_offset && notes.size() < kNotesMax) {
      notes.push_back("queue " + found->first.first + "/" + std::to_string(message.queue.value) +
                      ": offset " + std::to_string(message.queue_offset.value) + " at " +
                      std::to_string(message.offset.value) + ", where " +
                      std::to_string(found->second.value) + " was expected");
    }
    found->second = QueueOffset{message.queue_offset.value + 1};
  }

 private:
  static constexpr std::size_t kNotesMax = 100;
  std::map<std::pair<std::string, std::int32_t>, QueueOffset> next_;
};

Result<Findings> verify(storage::ReadOnlyLog& log, StoreInfo& info) {
  Findings findings;
  QueueOrder order;
  Progress progress("verify", 2 * (log.end() - log.min_offset()), system_clock());
  KEROLOX_RETURN_IF_ERROR(for_each_batch(log, [&](const storage::ReadBatch& batch) -> Result<void> {
    for (const storage::MessageView& message : batch) {
      ++findings.records;
      findings.record_bytes += message.record_bytes;
      order.check(message, findings.notes);
    }
    findings.damaged.insert(findings.damaged.end(), batch.damaged().begin(), batch.damaged().end());
    progress.reach(batch.next_offset() - log.min_offset());
    return {};
  }));
  KEROLOX_ASSIGN_OR_RETURN(info, log.info([&](PhysicalOffset at) {
    progress.reach(log.end() - log.min_offset() + (at - log.min_offset()));
  }));
  judge_end(info, findings);
  return findings;
}

void add_texts(std::string_view name, const std::vector<std::string>& texts, JsonLine& json) {
  json.key(name).begin_array();
  for (const std::string& text : texts) {
    json.string(text);
  }
  json.end_array();
}

bool good(const Findings& findings) {
  return findings.damaged.empty() && findings.problems.empty();
}

std::string as_json(const std::string& store, const StoreInfo& info, const Findings& findings) {
  JsonLine json;
  json.begin_object()
      .add("store", store)
      .add("good", good(findings))
      .add("records", findings.records)
      .add("record_bytes", findings.record_bytes)
      .add("min_offset", info.min_offset.value)
      .add("end_offset", info.end.value)
      .add("end_kind", storage::name(info.end_kind))
      .add("locked", info.locked);
  add_damage("damaged", findings.damaged, json);
  add_texts("problems", findings.problems, json);
  add_texts("notes", findings.notes, json);
  return std::string(json.end_object().take());
}

std::string as_text(const std::string& store, const StoreInfo& info, const Findings& findings) {
  std::string text;
  for (const storage::DamagedRange& range : findings.damaged) {
    text.append("damaged: ").append(std::to_string(range.bytes)).append(" bytes at ");
    text.append(std::to_string(range.offset.value)).append(": ").append(range.fault).append("\n");
  }
  for (const std::string& problem : findings.problems) {
    text.append("problem: ").append(problem).append("\n");
  }
  for (const std::string& note : findings.notes) {
    text.append("note: ").append(note).append("\n");
  }
  text.append(store).append(good(findings) ? ": good, " : ": damaged, ");
  text.append(std::to_string(findings.records)).append(" records, ");
  text.append(std::to_string(findings.record_bytes)).append(" bytes, from ");
  text.append(std::to_string(info.min_offset.value)).append(" to ");
  return text.append(std::to_string(info.end.value)).append("\n");
}

class StoreVerifyCommand : public Command {
 public:
  std::string_view name() const override { return "store verify"; }
  std::string_view usage() const override { return "--store=DIR [--output=json]"; }
  std::string_view summary() const override {
    return "read every record, list what is damaged; changes nothing";
  }
  std::string_view notes() const override {
    return "Exit code 1 if anything is damaged. What a running or killed writer left half done at "
           "the end of\nthe log is no damage.\n";
  }

  void declare(FlagTable& flags) override {
    flags.text("store", &store_, "DIR", "the store's root directory");
    flags.choice("output", &output_, {"text", "json"}, "form of the report");
    flags.require({"store"});
  }

  int run(const FlagTable&) override {
    const Result<bool> result = print();
    if (!result) {
      return fail(name(), result.error());
    }
    return *result ? kGood : kProblem;
  }

 private:
  Result<bool> print() {
    KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ReadOnlyLog> log,
                             open_read_only(store_));
    StoreInfo info;
    KEROLOX_ASSIGN_OR_RETURN(const Findings findings, verify(*log, info));
    Output output;
    output.add(output_ == "json" ? as_json(store_, info, findings)
                                 : as_text(store_, info, findings));
    KEROLOX_RETURN_IF_ERROR(output.flush());
    return good(findings);
  }

  std::string store_;
  std::string output_ = "text";
};

}  // namespace

std::unique_ptr<Command> store_verify_command() { return std::make_unique<StoreVerifyCommand>(); }

}  // namespace kerolox::tools
