// kerolox store inspect: what a store says about itself.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/clock.h"
#include "tools/command.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/store_access.h"

namespace kerolox::tools {
namespace {

using storage::StoreInfo;

// The one way of writing that there is; a store does not record it, since files are the same.
constexpr std::string_view kBackEnd = "mapped";

std::string flush_state(const StoreInfo& info) {
  const std::int64_t unsynced = info.end - info.flushed_offset;
  if (info.last_writer == storage::LastWriter::kJava) {
    return "unknown (Java does not record it)";
  }
  return unsynced > 0 ? std::to_string(unsynced) + " bytes are not recorded as synced"
                      : "all is recorded as synced";
}

std::string owner(const StoreInfo& info) {
  if (info.locked) {
    return "open for writing by " + (info.owner.empty() ? "an unknown process" : info.owner);
  }
  return info.owner.empty() ? "nobody" : "nobody; last " + info.owner;
}

void add_line(std::string& text, std::string_view label, std::string_view value) {
  std::string line(label);
  line.append(line.size() < 18 ? 18 - line.size() : 1, ' ');
  text.append(line).append(value).append("\n");
}

void add_fitness(std::string& text, std::string_view label,
                 const std::vector<std::string>& reasons) {
  if (reasons.empty()) {
    add_line(text, label, "yes");
  }
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    add_line(text, i == 0 ? label : "", (i == 0 ? "no: " : "    ") + reasons[i]);
  }
}

std::string bytes_or_unknown(std::int64_t count, const char* unit) {
  return count == 0 ? "unknown: none is there" : std::to_string(count) + unit;
}

std::string as_text(const std::string& store, const StoreInfo& info) {
  std::string text;
  add_line(text, "store", store);
  add_line(text, "last writer", name(info.last_writer));
  add_line(text, "owner", owner(info));
  add_line(text, "stopped", info.locked ? "running" : info.clean_stop ? "cleanly" : "not cleanly");
  add_line(text, "abort file", info.abort_file ? "yes" : "no");
  add_line(text, "back end", kBackEnd);
  add_line(text, "record checksum", info.record_crc ? "yes" : "no");
  add_line(text, "min offset", std::to_string(info.min_offset.value));
  add_line(text, "end",
           std::to_string(info.end.value) + " (" + std::string(name(info.end_kind)) + ")");
  add_line(text, "flushed offset",
           std::to_string(info.flushed_offset.value) + " (" + flush_state(info) + ")");
  add_line(text, "version 2 records", std::to_string(info.records_v2));
  add_fitness(text, "fit for Java 4.9", info.unfit_for_java_49);
  add_fitness(text, "fit for Java 5.x", info.unfit_for_java_5);
  for (const storage::DamagedRange& range : info.quarantine) {
    add_line(text, "quarantined",
             std::to_string(range.bytes) + " bytes at " + std::to_string(range.offset.value) +
                 ": " + range.fault);
  }
  add_line(text, "files",
           std::to_string(info.files.size()) + " of " + std::to_string(info.file_bytes) + " bytes");
  if (!info.lost_file.empty()) {
    add_line(text, "lost", info.lost_file + " is missing, and held records that were on disk");
  }
  add_line(text, "queue files", bytes_or_unknown(info.queue_file_bytes, " bytes each"));
  add_line(text, "index files", bytes_or_unknown(info.index_slots, " slots each"));
  for (const storage::LogFileInfo& file : info.files) {
    add_line(text, "log file",
             file.path.string() + "  " + std::to_string(file.bytes) + " bytes, " +
                 std::to_string(file.allocated_bytes) + " allocated");
  }
  return text;
}

void add_fitness(std::string_view member, const std::vector<std::string>& reasons, JsonLine& json) {
  json.key(member).begin_object().add("fit", reasons.empty()).key("reasons").begin_array();
  for (const std::string& reason : reasons) {
    json.string(reason);
  }
  json.end_array().end_object();
}

void add_files(const StoreInfo& info, JsonLine& json) {
  json.key("files").begin_array();
  for (const storage::LogFileInfo& file : info.files) {
    json.begin_object()
        .add("path", file.path.string())
        .add("base", file.base.value)
        .add("bytes", file.bytes)
        .add("allocated_bytes", file.allocated_bytes)
        .end_object();
  }
  json.end_array();
}

std::string as_json(const std::string& store, const StoreInfo& info) {
  JsonLine json;
  json.begin_object()
      .add("store", store)
      .add("last_writer", name(info.last_writer))
      .add("locked", info.locked)
      .add("owner", info.owner)
      .add("clean_stop", info.clean_stop)
      .add("abort_file", info.abort_file)
      .add("back_end", kBackEnd)
      .add("record_crc", info.record_crc)
      .add("file_bytes", info.file_bytes)
      .add("queue_file_bytes", info.queue_file_bytes)
      .add("index_slots", info.index_slots)
      .add("lost_file", info.lost_file)
      .add("min_offset", info.min_offset.value)
      .add("end_offset", info.end.value)
      .add("end_kind", storage::name(info.end_kind))
      .add("flushed_offset", info.flushed_offset.value)
      .add("unsynced_bytes", info.end - info.flushed_offset)
      .add("records_v2", info.records_v2);
  add_fitness("java_4_9", info.unfit_for_java_49, json);
  add_fitness("java_5", info.unfit_for_java_5, json);
  add_damage("quarantine", info.quarantine, json);
  add_files(info, json);
  return std::string(json.end_object().take());
}

class StoreInspectCommand : public Command {
 public:
  std::string_view name() const override { return "store inspect"; }
  std::string_view usage() const override { return "--store=DIR [--output=json]"; }
  std::string_view summary() const override {
    return "files, offsets, flush state, owner, fit for Java; changes nothing";
  }

  void declare(FlagTable& flags) override {
    flags.text("store", &store_, "DIR", "the store's root directory");
    flags.choice("output", &output_, {"text", "json"}, "form of the report");
    flags.require({"store"});
  }

  int run(const FlagTable&) override {
    const Result<void> printed = print();
    return printed ? static_cast<int>(kGood) : fail(name(), printed.error());
  }

 private:
  Result<void> print() {
    KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ReadOnlyLog> log,
                             open_read_only(store_));
    StoreInfo info;
    {
      Progress progress("inspect", log->end() - log->min_offset(), system_clock());
      KEROLOX_ASSIGN_OR_RETURN(
          info, log->info([&](PhysicalOffset at) { progress.reach(at - log->min_offset()); }));
    }
    Output output;
    output.add(output_ == "json" ? as_json(store_, info) : as_text(store_, info));
    return output.flush();
  }

  std::string store_;
  std::string output_ = "text";
};

}  // namespace

std::unique_ptr<Command> store_inspect_command() { return std::make_unique<StoreInspectCommand>(); }

}  // namespace kerolox::tools
