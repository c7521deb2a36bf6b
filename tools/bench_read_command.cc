// kerolox bench read: how fast a store's records come out, in the order of the log.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include "kerolox/base/clock.h"
#include "kerolox/base/file_system.h"
#include "kerolox/storage/commit_log.h"
#include "tools/command.h"
#include "tools/conditions.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/progress.h"
#include "tools/store_access.h"

namespace kerolox::tools {
namespace {

constexpr double kMib = 1 << 20;

struct Measured {
  std::int64_t messages = 0;
  std::int64_t body_bytes = 0;
  std::int64_t record_bytes = 0;
  std::int64_t reads = 0;
  double seconds = 0;
  double cpu_seconds = 0;
};

class BenchReadCommand : public Command {
 public:
  std::string_view name() const override { return "bench read"; }
  std::string_view usage() const override { return "--dir=DIR [flags]"; }
  std::string_view summary() const override { return "measure sequential reads of a store"; }
  std::string_view notes() const override {
    return "Reads the whole log, over and over if --bytes is more, every record validated. "
           "--reader=log reads as\na consumer of a running store does, and needs the store for "
           "itself; --reader=read_only works on any\nstore and changes nothing. Rates count "
           "bodies; log_mib_per_second counts whole records.\n";
  }

  void declare(FlagTable& flags) override;
  int run(const FlagTable& flags) override;

 private:
  Result<Measured> measure();
  Result<Measured> measure_log();
  // `read` is given an offset and a batch.
  template <typename Read>
  Result<Measured> measure(PhysicalOffset min, PhysicalOffset end, const Read& read);
  std::string as_json(const Measured& measured) const;
  std::string as_text(const Measured& measured) const;

  std::string dir_;
  std::int64_t bytes_ = 0;
  std::int64_t count_max_ = 1024;
  std::string reader_ = "log";
  std::string output_ = "text";
};

void BenchReadCommand::declare(FlagTable& flags) {
  flags.text("dir", &dir_, "DIR", "the store's root directory");
  flags.size("bytes", &bytes_, 0, "stop after so many bytes of records (0: the log once)");
  flags.number("count_max", &count_max_, 1, 1 << 20, "records a read");
  flags.choice("reader", &reader_, {"log", "read_only"}, "how to open the store");
  flags.choice("output", &output_, {"text", "json"}, "form of the report");
  flags.require({"dir"});
}

template <typename Read>
Result<Measured> BenchReadCommand::measure(PhysicalOffset min, PhysicalOffset end,
                                           const Read& read) {
  if (min == end) {
    return Error(ErrorCode::kNotFound, "the log is empty")
        .at(dir_)
        .with_remedy("fill it with `kerolox bench append`");
  }
  const std::int64_t bytes = bytes_ > 0 ? bytes_ : std::numeric_limits<std::int64_t>::max();
  Progress progress("bench read", bytes_ > 0 ? bytes_ : end - min, system_clock());
  Measured measured;
  storage::ReadBatch batch;
  const double cpu_before = process_cpu_seconds();
  const MonotonicTime begun = system_clock().monotonic();
  for (PhysicalOffset at = min; measured.record_bytes < bytes;) {
    KEROLOX_RETURN_IF_ERROR(read(at, batch));
    for (const storage::MessageView& message : batch) {
      measured.body_bytes += static_cast<std::int64_t>(message.body.size());
      measured.record_bytes += message.record_bytes;
    }
    measured.messages += static_cast<std::int64_t>(batch.size());
    ++measured.reads;
    at = batch.next_offset();
    if (at >= end) {
      if (bytes_ == 0 || measured.messages == 0) {
        break;
      }
      at = min;
    }
    progress.reach(measured.record_bytes);
  }
  measured.seconds = std::chrono::duration<double>(system_clock().monotonic() - begun).count();
  measured.cpu_seconds = process_cpu_seconds() - cpu_before;
  return measured;
}

Result<Measured> BenchReadCommand::measure_log() {
  KEROLOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<storage::CommitLog> log,
      storage::CommitLog::open(
          {.directory = dir_, .create_if_missing = false, .log = log_to_standard_error(name())}));
  const storage::ReadOptions options{.count_max = static_cast<std::int32_t>(count_max_),
                                     .bytes_max = std::int64_t{4} << 20,
                                     .limit = storage::ReadOptions::Limit::kFilled};
  KEROLOX_ASSIGN_OR_RETURN(const Measured measured,
                           measure(log->min_offset(), log->filled_offset(),
                                   [&](PhysicalOffset at, storage::ReadBatch& batch) {
                                     return log->read(at, options, batch);
                                   }));
  KEROLOX_RETURN_IF_ERROR(log->close({}));
  return measured;
}

Result<Measured> BenchReadCommand::measure() {
  if (reader_ == "log") {
    return measure_log();
  }
  KEROLOX_ASSIGN_OR_RETURN(const std::unique_ptr<storage::ReadOnlyLog> log, open_read_only(dir_));
  return measure(log->min_offset(), log->end(), [&](PhysicalOffset at, storage::ReadBatch& batch) {
    return log->read(at, static_cast<std::int32_t>(count_max_), std::int64_t{4} << 20, batch);
  });
}

std::string BenchReadCommand::as_json(const Measured& measured) const {
  JsonLine json;
  json.begin_object()
      .add("mib_per_second", static_cast<double>(measured.body_bytes) / kMib / measured.seconds)
      .add("messages_per_second", static_cast<double>(measured.messages) / measured.seconds)
      .add("log_mib_per_second",
           static_cast<double>(measured.record_bytes) / kMib / measured.seconds)
      .add("messages", measured.messages)
      .add("seconds", measured.seconds)
      .add("messages_per_read",
           static_cast<double>(measured.messages) / static_cast<double>(measured.reads))
      .add("cpu_seconds_per_gib", measured.cpu_seconds /
                                      std::max(1.0, static_cast<double>(measured.body_bytes)) *
                                      (kMib * 1024))
      .add("cpu_seconds", measured.cpu_seconds);
  json.key("conditions").begin_object();
  add_conditions(dir_, json);
  json.add("reader", reader_).add("count_max", count_max_).end_object();
  return std::string(json.end_object().take());
}

std::string BenchReadCommand::as_text(const Measured& measured) const {
  char text[256];
  std::snprintf(text, sizeof text,
                "%lld messages in %.2f s: %.1f MiB/s, %.0f messages/s, %.1f messages a read\n",
                static_cast<long long>(measured.messages), measured.seconds,
                static_cast<double>(measured.body_bytes) / kMib / measured.seconds,
                static_cast<double>(measured.messages) / measured.seconds,
                static_cast<double>(measured.messages) / static_cast<double>(measured.reads));
  return text;
}

int BenchReadCommand::run(const FlagTable&) {
  const Result<Measured> measured = measure();
  if (!measured) {
    return fail(name(), measured.error());
  }
  Output output;
  output.add(output_ == "json" ? as_json(*measured) : as_text(*measured));
  const Result<void> printed = output.flush();
  return printed ? static_cast<int>(kGood) : fail(name(), printed.error());
}

}  // namespace

std::unique_ptr<Command> bench_read_command() { return std::make_unique<BenchReadCommand>(); }

}  // namespace kerolox::tools
