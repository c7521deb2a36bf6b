// kerolox store recover: opens a store for writing, as the next writer would, and closes it again.

#include <memory>
#include <string>

#include "kerolox/storage/commit_log.h"
#include "tools/command.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/store_access.h"

namespace kerolox::tools {
namespace {

using storage::RecoveryReport;

std::string as_json(const std::string& store, const RecoveryReport& report) {
  JsonLine json;
  json.begin_object()
      .add("store", store)
      .add("last_writer", name(report.last_writer))
      .add("clean_stop", report.clean_stop)
      .add("machine_restarted", report.machine_restarted)
      .add("min_offset", report.min_offset.value)
      .add("scanned_from", report.scanned_from.value)
      .add("end_offset", report.end.value)
      .add("end_kind", storage::name(report.end_kind))
      .add("records_scanned", report.records_scanned)
      .add("cut_bytes", report.cut_bytes)
      .add("cut_file", report.cut_file.string())
      .add("rewritten_bytes", report.rewritten_bytes)
      .add("removed_files", report.removed_files);
  add_damage("damaged", report.damaged, json);
  json.add("elapsed_ms", std::int64_t{report.elapsed.count()});
  return std::string(json.end_object().take());
}

std::string as_text(const std::string& store, const RecoveryReport& report) {
  std::string text = store + ": recovered in " + std::to_string(report.elapsed.count()) + " ms\n";
  const auto add = [&text](const char* label, const std::string& value) {
    std::string line(label);
    line.append(18 - line.size(), ' ');
    text.append(line).append(value).append("\n");
  };
  add("last writer", std::string(name(report.last_writer)) +
                         (report.clean_stop ? ", stopped cleanly" : ", not stopped cleanly") +
                         (report.machine_restarted ? ", the machine restarted since" : ""));
  add("log", std::to_string(report.min_offset.value) + " to " + std::to_string(report.end.value) +
                 " (" + std::string(storage::name(report.end_kind)) + ")");
  add("scanned", std::to_string(report.records_scanned) + " records from " +
                     std::to_string(report.scanned_from.value));
  add("cut", std::to_string(report.cut_bytes) + " bytes" +
                 (report.cut_file.empty() ? "" : ", saved in " + report.cut_file.string()));
  add("rewritten", std::to_string(report.rewritten_bytes) + " bytes");
  add("removed", std::to_string(report.removed_files) + " files");
  for (const storage::DamagedRange& range : report.damaged) {
    add("damaged", std::to_string(range.bytes) + " bytes at " + std::to_string(range.offset.value) +
                       ": " + range.fault);
  }
  return text;
}

class StoreRecoverCommand : public Command {
 public:
  std::string_view name() const override { return "store recover"; }
  std::string_view usage() const override { return "--store=DIR [--output=json]"; }
  std::string_view summary() const override {
    return "recover a store as its next writer would, and close it";
  }
  std::string_view notes() const override {
    return "Looks at what lies above the recorded synced offset; `store verify` looks at all of "
           "the log.\n"
           "Exit code 1 if a part of what it looked at is damaged and had to be quarantined.\n";
  }

  void declare(FlagTable& flags) override {
    flags.text("store", &store_, "DIR", "the store's root directory");
    flags.choice("output", &output_, {"text", "json"}, "form of the report");
    flags.require({"store"});
  }

  int run(const FlagTable&) override {
    const Result<bool> result = recover();
    if (!result) {
      return fail(name(), result.error());
    }
    return *result ? kGood : kProblem;
  }

 private:
  Result<bool> recover() {
    KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::CommitLog> log,
                             storage::CommitLog::open({.directory = store_,
                                                       .create_if_missing = false,
                                                       .log = log_to_standard_error(name())}));
    const RecoveryReport report = log->recovery_report();
    KEROLOX_RETURN_IF_ERROR(log->close({}));
    Output output;
    output.add(output_ == "json" ? as_json(store_, report) : as_text(store_, report));
    KEROLOX_RETURN_IF_ERROR(output.flush());
    return report.damaged.empty();
  }

  std::string store_;
  std::string output_ = "text";
};

}  // namespace

std::unique_ptr<Command> store_recover_command() { return std::make_unique<StoreRecoverCommand>(); }

}  // namespace kerolox::tools
