// A store on a disk that can lose power, with a log made by a LogBuilder.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/checkpoint.h"
#include "storage/cut_file.h"
#include "storage/data_windows.h"
#include "storage/file_bytes.h"
#include "storage/hash.h"
#include "storage/java_files.h"
#include "storage/log_builder.h"
#include "storage/log_reader.h"
#include "storage/recovery.h"
#include "support/crash_file_system.h"
#include "support/manual_clock.h"

namespace kerolox::storage {

class RecoveryStore {
 public:
  static constexpr const char* kStore = "/store";
  static std::filesystem::path log_directory() { return "/store/commitlog"; }

  RecoveryStore() {
    EXPECT_TRUE(disk_.create_directories("/store/kerolox"));
    EXPECT_TRUE(disk_.sync_directory("/"));
    EXPECT_TRUE(disk_.sync_directory("/store"));
  }

  void write_log() { log_.write(log_directory(), disk_); }
  // The builder rolled after its files were written.
  void write_blank_of_first_file() {
    auto file = disk_.open(log_directory() / log_file_name(log_.min()),
                           {.mode = OpenOptions::Mode::kReadWrite});
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write_at(0, log_.bytes(log_.min(), log_.min() + log_.file_bytes())));
  }

  // What our own writer would have recorded with all below `synced` on disk: the record that ends
  // there, the table that the records below leave, everything written with checksums.
  Checkpoint checkpoint_at(PhysicalOffset synced) {
    Checkpoint checkpoint;
    checkpoint.file_bytes = log_.file_bytes();
    checkpoint.boot_id = disk_.boot_id();
    checkpoint.min_offset = log_.min();
    checkpoint.synced = synced;
    checkpoint.written_limit = std::max(synced, log_.end_of_files());
    QueueTable queues;
    for (const PhysicalOffset record : log_.records()) {
      if (record >= synced) {
        break;
      }
      const DecodedRecord decoded = decode_record(
          log_.bytes(record, file_end_of(record, log_.file_bytes())), {.body_crc = false});
      queues.add(decoded.view);
      if (record + decoded.bytes == synced) {
        checkpoint.last_record = record;
        checkpoint.last_record_hash = xxh3_64(decoded.view.record);
      }
    }
    checkpoint.queue_offsets = queues.list();
    checkpoint.own_ranges = {{log_.min(), checkpoint.written_limit}};
    return checkpoint;
  }
  void save(const Checkpoint& checkpoint) {
    CheckpointFiles files("/store/kerolox", disk_);
    ASSERT_TRUE(files.load());
    ASSERT_TRUE(files.save(checkpoint));
  }
  // As a Java broker of our log's sizes leaves it: no checkpoint of ours, its own two files.
  void make_java_store(std::int64_t physic_timestamp_ms, bool abort) {
    JavaFiles files(kStore, disk_);
    ASSERT_TRUE(files.save_checkpoint(
        {.physic_timestamp_ms = physic_timestamp_ms, .logics_timestamp_ms = physic_timestamp_ms}));
    if (abort) {
      ASSERT_TRUE(files.create_abort());
    }
  }

  Result<LogSurvey> survey() { return survey_log(input_, disk_); }
  Result<RecoveredLog> try_recover() {
    CheckpointFiles files("/store/kerolox", disk_);
    return recover_log(input_, files, disk_, clock_);
  }
  RecoveredLog recover() {
    auto recovered = try_recover();
    EXPECT_TRUE(recovered) << recovered.error().text();
    return recovered ? *std::move(recovered) : RecoveredLog();
  }

  // The bodies of all records that a survey finds, damage skipped.
  std::vector<std::string> bodies() {
    std::vector<std::string> found;
    const auto seen = survey();
    EXPECT_TRUE(seen) << seen.error().text();
    if (!seen || seen->layout.files.empty()) {
      return found;
    }
    FileBytes bytes(seen->layout, disk_);
    const LogReadLimits limits{.min = seen->min_offset,
                               .end = seen->end,
                               .file_bytes = seen->layout.file_bytes,
                               .count_max = 1000,
                               .bytes_max = 1 << 20,
                               .own_ranges = seen->rules.own_ranges};
    ReadBatch batch;
    for (PhysicalOffset at = limits.min; at < limits.end; at = batch.next_offset()) {
      const auto read = LogReader::read(bytes, at, limits, batch);
      EXPECT_TRUE(read) << read.error().text();
      if (!read) {
        break;
      }
      for (const MessageView& message : batch) {
        found.emplace_back(reinterpret_cast<const char*>(message.body.data()), message.body.size());
      }
    }
    return found;
  }

  // What the files hold, by name; as memory shows it.
  std::map<std::string, std::vector<std::byte>> contents() {
    std::map<std::string, std::vector<std::byte>> found;
    const auto entries = disk_.list(log_directory());
    EXPECT_TRUE(entries);
    for (const DirectoryEntry& entry : *entries) {
      auto file = disk_.open(log_directory() / entry.name, {});
      EXPECT_TRUE(file);
      std::vector<std::byte>& bytes = found[entry.name];
      bytes.resize(static_cast<std::size_t>((*file)->status()->bytes));
      EXPECT_TRUE((*file)->read_at(0, bytes));
    }
    return found;
  }
  // What a missing file is called in an error.
  static std::string place_of(PhysicalOffset base) {
    return (log_directory() / log_file_name(base)).string();
  }
  // Whether nothing else is in [from, to); a file that is not there holds nothing.
  bool zeros(PhysicalOffset from, PhysicalOffset to) {
    const auto files = contents();
    for (PhysicalOffset at = from; at < to; at = file_end_of(at, log_.file_bytes())) {
      const PhysicalOffset file_end = file_end_of(at, log_.file_bytes());
      const auto file = files.find(log_file_name(file_end - log_.file_bytes()));
      if (file == files.end()) {
        continue;
      }
      const auto part = std::span(file->second)
                            .subspan(static_cast<std::size_t>(at.value % log_.file_bytes()),
                                     static_cast<std::size_t>(std::min(file_end, to) - at));
      if (skip_zeros(part) < part.size()) {
        return false;
      }
    }
    return true;
  }

  CrashFileSystem disk_;
  ManualClock clock_;
  LogBuilder log_{16384};
  RecoveryInput input_{.directory = kStore};
};

class RecoveryFixture : public ::testing::Test, protected RecoveryStore {};

}  // namespace kerolox::storage
