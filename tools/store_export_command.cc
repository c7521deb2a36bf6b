// kerolox store export: prints what a store holds, as JSON lines.

#include <memory>
#include <string>

#include "kerolox/base/clock.h"
#include "tools/command.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/probe_format.h"
#include "tools/progress.h"
#include "tools/store_access.h"

namespace kerolox::tools {
namespace {

class StoreExportCommand : public Command {
 public:
  std::string_view name() const override { return "store export"; }
  std::string_view usage() const override { return "--store=DIR [--format=probe [--all_keys]]"; }
  std::string_view summary() const override {
    return "print every message as a JSON line; changes nothing";
  }
  std::string_view notes() const override {
    return "--format=kerolox: a `store` line, then `message` lines in the order of the log, with "
           "`damaged`\nlines between them where it cannot be read.\n--format=probe: exactly what "
           "`refcluster storeprobe dump` prints for the store; of one whose\nwriter was killed, "
           "what recovery will keep.\nExit code 1 if anything was damaged.\n";
  }

  void declare(FlagTable& flags) override {
    flags.text("store", &store_, "DIR", "the store's root directory");
    flags.choice("format", &format_, {"kerolox", "probe"}, "which lines to print");
    flags.boolean("all_keys", &all_keys_, "with --format=probe: also ask for every key seen");
    flags.require({"store"});
  }

  int run(const FlagTable&) override {
    if (all_keys_ && format_ != "probe") {
      return fail(name(),
                  Error(ErrorCode::kInvalidArgument, "has a meaning with --format=probe only")
                      .at("--all_keys")
                      .with_remedy("add --format=probe"));
    }
    const Result<bool> whole = format_ == "probe" ? export_probe() : export_own();
    if (!whole) {
      return fail(name(), whole.error());
    }
    return *whole ? kGood : kProblem;
  }

 private:
  Result<bool> export_probe();  // false: damage was met
  Result<bool> export_own();

  std::string store_;
  std::string format_ = "kerolox";
  bool all_keys_ = false;
};

Result<bool> StoreExportCommand::export_probe() {
  KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ReadOnlyLog> log, open_read_only(store_));
  Output output;
  Progress progress("export", log->end() - log->min_offset(), system_clock());
  ProbeExport probe(*log, output, progress);
  KEROLOX_RETURN_IF_ERROR(probe.print(all_keys_));
  return !probe.damage_seen();
}

Result<bool> StoreExportCommand::export_own() {
  KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ReadOnlyLog> log, open_read_only(store_));
  Output output;
  JsonLine json;
  json.begin_object()
      .add("type", "store")
      .add("minOffset", log->min_offset().value)
      .add("endOffset", log->end().value)
      .add("fileBytes", log->file_bytes())
      .end_object();
  output.add(json.take());
  Progress progress("export", log->end() - log->min_offset(), system_clock());
  bool whole = true;
  const auto print_batch = [&](const storage::ReadBatch& batch) -> Result<void> {
    std::size_t next = 0;
    const auto print_until = [&](PhysicalOffset end) {
      for (; next < batch.size() && batch[next].offset < end; ++next) {
        json.begin_object().add("type", "message");
        add_message(batch[next], json);
        output.add(json.end_object().take());
      }
    };
    for (const storage::DamagedRange& range : batch.damaged()) {
      print_until(range.offset);
      json.begin_object().add("type", "damaged").add("physicalOffset", range.offset.value);
      output.add(json.add("bytes", range.bytes).add("fault", range.fault).end_object().take());
      whole = false;
    }
    print_until(batch.next_offset());
    progress.reach(batch.next_offset() - log->min_offset());
    return {};
  };
  KEROLOX_RETURN_IF_ERROR(for_each_batch(*log, print_batch));
  KEROLOX_RETURN_IF_ERROR(output.flush());
  return whole;
}

}  // namespace

std::unique_ptr<Command> store_export_command() { return std::make_unique<StoreExportCommand>(); }

}  // namespace kerolox::tools
