// Questions: what does a message cost on the mapped back end, beside what the disk alone costs?
// Messages of 1 KiB unless the name says 128 B; flush policy and messages in flight are in the
// name; one appending thread. The disk is KEROLOX_BENCH_DIR's. What counts are ratios within one
// run.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "bench_store.h"
#include "kerolox/storage/commit_log.h"

namespace kerolox::storage {
namespace {

using bench::BenchDirectory;
using bench::Latencies;

std::unique_ptr<CommitLog> open_or_skip(benchmark::State& state, CommitLogOptions options) {
  Result<std::unique_ptr<CommitLog>> opened = CommitLog::open(std::move(options));
  if (!opened) {
    state.SkipWithError(opened.error().text().c_str());
    return nullptr;
  }
  return *std::move(opened);
}

std::vector<std::byte> body_of(std::size_t bytes) {
  return std::vector<std::byte>(bytes, std::byte{'k'});
}

// The referee: 4 KiB written and synced, into blocks that were written before.
void BM_RawWriteAndSync4KiB(benchmark::State& state) {
  constexpr std::size_t kBlock = 4096;
  constexpr off_t kBlocks = 16384;
  const BenchDirectory directory;
  const int fd = ::open((directory.path() / "raw").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::vector<std::byte> block = body_of(kBlock);
  for (off_t i = 0; i < kBlocks; ++i) {
    if (::pwrite(fd, block.data(), kBlock, i * static_cast<off_t>(kBlock)) != kBlock) {
      state.SkipWithError("cannot write the file");
      break;
    }
  }
  ::fdatasync(fd);
  Latencies latencies;
  off_t next = 0;
  for (auto _ : state) {
    latencies.start();
    const bool good = ::pwrite(fd, block.data(), kBlock, next * static_cast<off_t>(kBlock)) ==
                          static_cast<ssize_t>(kBlock) &&
                      ::fdatasync(fd) == 0;
    latencies.stop();
    if (!good) {
      state.SkipWithError("write or sync failed");
    }
    next = (next + 1) % kBlocks;
  }
  ::close(fd);
  latencies.report(state);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RawWriteAndSync4KiB)->UseRealTime();

void BM_SyncAppendOneInFlight(benchmark::State& state) {
  const BenchDirectory directory;
  const std::unique_ptr<CommitLog> log = open_or_skip(state, {.directory = directory.path()});
  if (log == nullptr) {
    return;
  }
  const std::vector<std::byte> body = body_of(1024);
  Latencies latencies;
  for (auto _ : state) {
    latencies.start();
    const Result<AppendReceipt> receipt = log->append_and_wait({.topic = "bench", .body = body});
    latencies.stop();
    if (!receipt) {
      state.SkipWithError(receipt.error().text().c_str());
    }
  }
  latencies.report(state);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SyncAppendOneInFlight)->UseRealTime();

// One thread keeps `range(0)` appends in flight; completions count them down.
void BM_SyncAppendInFlight(benchmark::State& state) {
  const BenchDirectory directory;
  const std::unique_ptr<CommitLog> log = open_or_skip(state, {.directory = directory.path()});
  if (log == nullptr) {
    return;
  }
  const std::vector<std::byte> body = body_of(1024);
  std::atomic<std::int64_t> in_flight{0};
  for (auto _ : state) {
    for (std::int64_t now = in_flight.load(); now >= state.range(0); now = in_flight.load()) {
      in_flight.wait(now);
    }
    in_flight.fetch_add(1);
    const Result<Ticket> ticket =
        log->append({.topic = "bench", .body = body}, {},
                    Completion([&in_flight, high = state.range(0)](const Result<AppendReceipt>&) {
                      if (in_flight.fetch_sub(1) == high) {
                        in_flight.notify_one();
                      }
                    }));
    if (!ticket) {
      state.SkipWithError(ticket.error().text().c_str());
      break;
    }
  }
  static_cast<void>(log->close({}));
  const LogCounters counters = log->counters();
  state.counters["group"] = static_cast<double>(counters.sync_group_messages) /
                            static_cast<double>(std::max<std::int64_t>(1, counters.sync_groups));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SyncAppendInFlight)->Arg(64)->Arg(256)->UseRealTime();

void BM_AsyncAppend(benchmark::State& state) {
  const BenchDirectory directory;
  const std::unique_ptr<CommitLog> log =
      open_or_skip(state, {.directory = directory.path(), .flush_policy = FlushPolicy::kAsync});
  if (log == nullptr) {
    return;
  }
  const std::vector<std::byte> body = body_of(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    const Result<Ticket> ticket = log->append({.topic = "bench", .body = body}, {}, {});
    if (!ticket) {
      state.SkipWithError(ticket.error().text().c_str());
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
  state.SetBytesProcessed(log->counters().bytes_appended);
}
BENCHMARK(BM_AsyncAppend)->Arg(128)->Arg(1024)->MeasureProcessCPUTime()->UseRealTime();

// Several threads on one log: their p50 and p99 are those of each append.
void BM_AsyncAppendThreads(benchmark::State& state) {
  static std::unique_ptr<BenchDirectory> directory;
  static std::unique_ptr<CommitLog> log;
  if (state.thread_index() == 0) {
    directory = std::make_unique<BenchDirectory>();
    log =
        open_or_skip(state, {.directory = directory->path(), .flush_policy = FlushPolicy::kAsync});
  }
  const std::vector<std::byte> body = body_of(128);
  for (auto _ : state) {
    const Result<Ticket> ticket = log->append({.topic = "bench", .body = body}, {}, {});
    if (!ticket && ticket.error().code() != ErrorCode::kBusy) {
      state.SkipWithError(ticket.error().text().c_str());
      break;
    }
  }
  state.SetItemsProcessed(state.iterations());
  if (state.thread_index() == 0) {
    log.reset();
    directory.reset();
  }
}
BENCHMARK(BM_AsyncAppendThreads)->Threads(16)->UseRealTime();

// The newest messages, validated, in batches of 32.
void BM_ReadTail(benchmark::State& state) {
  const BenchDirectory directory;
  const std::unique_ptr<CommitLog> log =
      open_or_skip(state, {.directory = directory.path(), .flush_policy = FlushPolicy::kAsync});
  if (log == nullptr) {
    return;
  }
  const std::vector<std::byte> body = body_of(static_cast<std::size_t>(state.range(0)));
  const std::int64_t count = std::min<std::int64_t>(100000, (48 << 20) / state.range(0));
  for (std::int64_t i = 0; i < count; ++i) {
    static_cast<void>(log->append({.topic = "bench", .body = body}, {}, {}));
  }
  ReadBatch batch;
  std::int64_t messages = 0;
  PhysicalOffset at;
  for (auto _ : state) {
    const Result<void> read = log->read(at, {}, batch);
    if (!read) {
      state.SkipWithError(read.error().text().c_str());
      break;
    }
    messages += static_cast<std::int64_t>(batch.size());
    at = batch.next_offset() < log->confirm_offset() ? batch.next_offset() : PhysicalOffset{0};
  }
  state.SetItemsProcessed(messages);
}
BENCHMARK(BM_ReadTail)->Arg(128)->Arg(1024)->UseRealTime();

// Appends `bytes` to the store under ASYNC_FLUSH in a process of its own, which then kills itself.
void append_and_die(const std::filesystem::path& directory, std::int64_t bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    Result<std::unique_ptr<CommitLog>> log =
        CommitLog::open({.directory = directory, .flush_policy = FlushPolicy::kAsync});
    const std::vector<std::byte> body = body_of(1024);
    const PhysicalOffset end = log ? (*log)->filled_offset() + bytes : PhysicalOffset{0};
    while (log && (*log)->filled_offset() < end) {
      if (!(*log)->append({.topic = "bench", .body = body}, {}, {})) {
        break;
      }
    }
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

// Open a log of 10 GiB whose writer was killed in full flow.
void BM_OpenAfterKill(benchmark::State& state) {
  const BenchDirectory directory;
  append_and_die(directory.path(), bench::smoke() ? (1 << 20) : std::int64_t{10} << 30);
  Latencies latencies;
  std::int64_t scanned = 0;
  for (auto _ : state) {
    state.PauseTiming();
    append_and_die(directory.path(), bench::smoke() ? (1 << 16) : std::int64_t{64} << 20);
    state.ResumeTiming();
    latencies.start();
    std::unique_ptr<CommitLog> log = open_or_skip(state, {.directory = directory.path()});
    latencies.stop();
    state.PauseTiming();
    if (log == nullptr) {
      break;
    }
    scanned = log->recovery_report().records_scanned;
    log.reset();
    state.ResumeTiming();
  }
  latencies.report(state);
  state.counters["records_scanned"] = static_cast<double>(scanned);
}
BENCHMARK(BM_OpenAfterKill)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kerolox::storage
