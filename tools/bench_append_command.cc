// kerolox bench append: how fast a store takes messages, and how long each waits.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "kerolox/base/clock.h"
#include "kerolox/storage/commit_log.h"
#include "tools/append_load.h"
#include "tools/command.h"
#include "tools/conditions.h"
#include "tools/json_lines.h"
#include "tools/output.h"
#include "tools/progress.h"

namespace kerolox::tools {
namespace {

constexpr double kMib = 1 << 20;
constexpr double kGib = 1 << 30;

struct Measured {
  AppendLoadResult load;
  double cpu_seconds = 0;
  double durable_seconds = 0;  // from the first append until all of it was on disk
  storage::LogCounters counters;
};

class BenchAppendCommand : public Command {
 public:
  std::string_view name() const override { return "bench append"; }
  std::string_view usage() const override { return "--dir=DIR [flags]"; }
  std::string_view summary() const override { return "measure appends: rate, latency, CPU, syncs"; }
  std::string_view notes() const override {
    return "Appends to the store in DIR, which is created if there is none, and leaves it there. "
           "Rates count\nbodies; log_mib_per_second counts whole records. Latencies are those from "
           "append to\nacknowledgement. cpu_seconds_per_gib is the CPU time of the whole process, "
           "all threads.\n";
  }

  void declare(FlagTable& flags) override;
  int run(const FlagTable& flags) override;

 private:
  Result<void> measure();
  Result<Measured> load(storage::CommitLog& log);
  std::int64_t messages() const;
  std::string as_json(const Measured& measured) const;
  std::string as_text(const Measured& measured) const;

  std::string dir_;
  std::int64_t message_bytes_ = 1024;
  std::int64_t threads_ = 1;
  std::int64_t in_flight_ = 1;
  std::string flush_ = "sync";
  std::int64_t bytes_ = std::int64_t{3} << 30;
  std::int64_t seconds_ = 0;
  std::int64_t log_file_bytes_ = 0;
  std::int64_t queue_file_bytes_ = 0;
  std::int64_t index_slots_ = 0;
  bool record_crc_ = true;
  std::string output_ = "text";
};

void BenchAppendCommand::declare(FlagTable& flags) {
  flags.text("dir", &dir_, "DIR", "the store's root directory");
  flags.size("message_bytes", &message_bytes_, 0, "bytes of each body");
  flags.number("threads", &threads_, 1, 1024, "producers");
  flags.number("in_flight", &in_flight_, 1, 65536,
               "appends of a producer that wait for their level at once");
  flags.choice("flush", &flush_, {"sync", "async"},
               "acknowledge from the disk (sync) or from memory (async)");
  flags.size("bytes", &bytes_, 1, "stop after so many bytes of bodies");
  flags.number("seconds", &seconds_, 0, 86400, "or after so many seconds (0: no limit)");
  flags.size("log_file_bytes", &log_file_bytes_, 4096,
             "size of a log file of a new store (0: 1GiB, or what is there)");
  flags.size("queue_file_bytes", &queue_file_bytes_, 0,
             "size of a consume queue file of a new store (0: 6000000, or what is there)");
  flags.number("index_slots", &index_slots_, 0, 25'000'000,
               "hash slots of an index file of a new store (0: 5000000, or what is there)");
  flags.boolean("record_crc", &record_crc_, "add the checksum of the whole record, `__CRC32#`");
  flags.choice("output", &output_, {"text", "json"}, "form of the report");
  flags.require({"dir"});
}

std::int64_t BenchAppendCommand::messages() const {
  return std::max<std::int64_t>(1, bytes_ / std::max<std::int64_t>(1, message_bytes_));
}

Result<Measured> BenchAppendCommand::load(storage::CommitLog& log) {
  const AppendLoadOptions options{.message_bytes = static_cast<std::size_t>(message_bytes_),
                                  .threads = static_cast<int>(threads_),
                                  .in_flight = static_cast<int>(in_flight_),
                                  .messages = messages(),
                                  .seconds_max = static_cast<double>(seconds_)};
  Progress progress("bench append", messages() * message_bytes_, system_clock());
  Measured measured;
  const double cpu_before = process_cpu_seconds();
  const MonotonicTime begun = system_clock().monotonic();
  KEROLOX_ASSIGN_OR_RETURN(measured.load, run_append_load(log, options, [&](std::int64_t appended) {
                             progress.reach(appended * message_bytes_);
                           }));
  measured.counters = log.counters();  // before the flush that nobody waited for
  KEROLOX_RETURN_IF_ERROR(log.flush());
  measured.durable_seconds =
      std::chrono::duration<double>(system_clock().monotonic() - begun).count();
  measured.cpu_seconds = process_cpu_seconds() - cpu_before;
  return measured;
}

Result<void> BenchAppendCommand::measure() {
  KEROLOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<storage::CommitLog> log,
      storage::CommitLog::open(
          {.directory = dir_,
           .file_bytes = log_file_bytes_,
           .queue_file_bytes = queue_file_bytes_,
           .index_slots = index_slots_,
           .flush_policy =
               flush_ == "sync" ? storage::FlushPolicy::kSync : storage::FlushPolicy::kAsync,
           .body_bytes_max = std::max(message_bytes_, storage::kBodyBytesMaxDefault),
           .record_crc = record_crc_,
           .log = log_to_standard_error(name())}));
  KEROLOX_ASSIGN_OR_RETURN(const Measured measured, load(*log));
  KEROLOX_RETURN_IF_ERROR(log->close({}));
  Output output;
  output.add(output_ == "json" ? as_json(measured) : as_text(measured));
  return output.flush();
}

int BenchAppendCommand::run(const FlagTable&) {
  const Result<void> measured = measure();
  return measured ? static_cast<int>(kGood) : fail(name(), measured.error());
}

std::string BenchAppendCommand::as_json(const Measured& measured) const {
  const AppendLoadResult& load = measured.load;
  const auto bytes = static_cast<double>(load.messages * message_bytes_);
  const storage::LogCounters& counters = measured.counters;
  const double group = counters.sync_groups == 0
                           ? 0
                           : static_cast<double>(counters.sync_group_messages) /
                                 static_cast<double>(counters.sync_groups);
  JsonLine json;
  json.begin_object()
      .add("mib_per_second", bytes / kMib / load.seconds)
      .add("messages_per_second", static_cast<double>(load.messages) / load.seconds)
      .add("log_mib_per_second", static_cast<double>(counters.bytes_appended) / kMib / load.seconds)
      .add("durable_mib_per_second", bytes / kMib / measured.durable_seconds)
      .add("messages", load.messages)
      .add("seconds", load.seconds)
      .add("timed_out", load.timed_out);
  json.key("latency_us").begin_object();
  for (const auto& [label, part] : {std::pair("p50", 0.5), std::pair("p90", 0.9),
                                    std::pair("p99", 0.99), std::pair("p999", 0.999)}) {
    json.add(label, load.latencies.percentile_microseconds(part));
  }
  json.add("max", load.latencies.max_microseconds()).end_object();
  json.add("cpu_seconds_per_gib", measured.cpu_seconds / (bytes / kGib))
      .add("cpu_seconds", measured.cpu_seconds)
      .add("syncs", counters.syncs)
      .add("group_size_mean", group)
      .add("rolls", counters.rolls);
  json.key("conditions").begin_object();
  add_conditions(dir_, json);
  json.add("flush", flush_)
      .add("message_bytes", message_bytes_)
      .add("threads", threads_)
      .add("in_flight", in_flight_)
      .add("record_crc", record_crc_)
      .add("bytes", bytes_)
      .end_object();
  return std::string(json.end_object().take());
}

std::string BenchAppendCommand::as_text(const Measured& measured) const {
  const AppendLoadResult& load = measured.load;
  const double mib = static_cast<double>(load.messages * message_bytes_) / kMib;
  char text[512];
  std::snprintf(
      text, sizeof text,
      "%lld messages of %lld bytes in %.2f s: %.1f MiB/s, %.0f messages/s; on disk after %.2f s\n"
      "latency p50 %.1f us, p90 %.1f us, p99 %.1f us, p99.9 %.1f us, max %.1f us\n"
      "%lld syncs; %.2f CPU s a GiB; %s flush, %lld threads, %lld in flight each\n",
      static_cast<long long>(load.messages), static_cast<long long>(message_bytes_), load.seconds,
      mib / load.seconds, static_cast<double>(load.messages) / load.seconds,
      measured.durable_seconds, load.latencies.percentile_microseconds(0.5),
      load.latencies.percentile_microseconds(0.9), load.latencies.percentile_microseconds(0.99),
      load.latencies.percentile_microseconds(0.999), load.latencies.max_microseconds(),
      static_cast<long long>(measured.counters.syncs), measured.cpu_seconds / (mib / 1024),
      flush_.c_str(), static_cast<long long>(threads_), static_cast<long long>(in_flight_));
  return text;
}

}  // namespace

std::unique_ptr<Command> bench_append_command() { return std::make_unique<BenchAppendCommand>(); }

}  // namespace kerolox::tools
