// A place for a benchmark's store, removed afterwards, and the percentiles of what was timed in it.
#pragma once

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace kerolox::bench {

// Large parts are made small for the run that only shows that a benchmark works.
inline bool smoke() { return std::getenv("KEROLOX_BENCH_SMOKE") != nullptr; }

// KEROLOX_BENCH_DIR chooses the disk; without it, the working directory's.
class BenchDirectory {
 public:
  BenchDirectory() {
    const char* chosen = std::getenv("KEROLOX_BENCH_DIR");
    const std::filesystem::path parent = chosen == nullptr ? "." : chosen;
    path_ = parent / ("kerolox-bench-" + std::to_string(::getpid()));
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~BenchDirectory() { std::filesystem::remove_all(path_); }
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Latencies of single operations; reported as the counters p50_us, p99_us and p999_us.
class Latencies {
 public:
  void start() { started_ = std::chrono::steady_clock::now(); }
  void stop() {
    const std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - started_;
    microseconds_.push_back(took.count());
  }
  void report(benchmark::State& state) {
    if (microseconds_.empty()) {
      return;
    }
    std::sort(microseconds_.begin(), microseconds_.end());
    const auto at = [&](double part) {
      const auto last = static_cast<double>(microseconds_.size() - 1);
      return microseconds_[static_cast<std::size_t>(part * last)];
    };
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
    state.counters["p999_us"] = at(0.999);
  }

 private:
  std::chrono::steady_clock::time_point started_;
  std::vector<double> microseconds_;
};

}  // namespace kerolox::bench
