// Log files in memory, record by record: what tests write, bend and put on a disk.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/file_system.h"
#include "kerolox/storage/record.h"
#include "storage/log_layout.h"
#include "storage/record_cursor.h"

namespace kerolox::storage {

class LogBuilder {
 public:
  explicit LogBuilder(std::int64_t file_bytes = 16384, std::int64_t begin = 0)
      : file_bytes_(file_bytes), min_(begin), end_(begin) {}

  struct Options {
    std::string_view topic = "orders";
    std::int32_t queue = 0;
    bool record_crc = true;
    std::int32_t sys_flag = 0;
    std::int64_t store_timestamp_ms = 0;  // 0: one more than the record before
  };

  // Rolls into the next file as a log does. Returns where the record is.
  PhysicalOffset append(std::string_view body, const Options& options) {
    const Message message{.topic = options.topic,
                          .queue = QueueId{options.queue},
                          .body = std::as_bytes(std::span(body)),
                          .sys_flag = options.sys_flag};
    EXPECT_TRUE(encoder_.prepare(message, loopback_host(), options.record_crc, {}));
    if (encoder_.record_bytes() + kBlankBytesMin > rest()) {
      roll();
    }
    timestamp_ms_ =
        options.store_timestamp_ms != 0 ? options.store_timestamp_ms : timestamp_ms_ + 1;
    std::int64_t& next = next_[{std::string(options.topic), options.queue}];
    const PhysicalOffset place = end_;
    for (const auto piece : encoder_.finish({place, QueueOffset{next}, timestamp_ms_})) {
      put(piece);
    }
    next += encoder_.takes_queue_offset() ? 1 : 0;
    records_.push_back(place);
    return place;
  }
  PhysicalOffset append(std::string_view body) { return append(body, {}); }

  // Ends the file with a blank.
  void roll() {
    put(encode_blank(rest()));
    end_ = end_ + (rest() < file_bytes_ ? rest() : 0);
    file(end_);
  }

  std::byte& at(PhysicalOffset offset) {
    return file(offset)[static_cast<std::size_t>(offset.value % file_bytes_)];
  }
  void overwrite(PhysicalOffset offset, std::string_view text) {
    for (const char c : text) {
      at(offset) = static_cast<std::byte>(c);
      offset = offset + 1;
    }
  }
  void zero(PhysicalOffset from, PhysicalOffset to) {
    for (; from < to; from = from + 1) {
      at(from) = std::byte{0};
    }
  }
  void remove_file(PhysicalOffset base) { files_.erase(base.value); }

  // All files, with their names, on disk.
  void write(const std::filesystem::path& directory, FileSystem& file_system) const {
    ASSERT_TRUE(file_system.create_directories(directory));
    for (const auto& [base, bytes] : files_) {
      auto file = file_system.open(directory / log_file_name(PhysicalOffset{base}),
                                   {.mode = OpenOptions::Mode::kCreateOrOpen});
      ASSERT_TRUE(file) << file.error().text();
      ASSERT_TRUE((*file)->resize(file_bytes_));
      ASSERT_TRUE((*file)->write_at(0, bytes));
      ASSERT_TRUE((*file)->sync());
    }
    for (auto path = directory; path.has_relative_path(); path = path.parent_path()) {
      ASSERT_TRUE(file_system.sync_directory(path.parent_path()));
    }
    ASSERT_TRUE(file_system.sync_directory(directory));
  }

  std::int64_t file_bytes() const { return file_bytes_; }
  PhysicalOffset min() const { return min_; }
  PhysicalOffset end() const { return end_; }
  const std::vector<PhysicalOffset>& records() const { return records_; }
  PhysicalOffset end_of_files() const {
    return PhysicalOffset{files_.rbegin()->first + file_bytes_};
  }
  std::span<const std::byte> bytes(PhysicalOffset from, PhysicalOffset to) {
    return std::span<const std::byte>(file(from))
        .subspan(static_cast<std::size_t>(from.value % file_bytes_),
                 static_cast<std::size_t>(to - from));
  }
  std::int64_t last_timestamp_ms() const { return timestamp_ms_; }

 private:
  std::int64_t rest() const { return file_bytes_ - end_.value % file_bytes_; }
  std::vector<std::byte>& file(PhysicalOffset offset) {
    std::vector<std::byte>& bytes = files_[offset.value - offset.value % file_bytes_];
    bytes.resize(static_cast<std::size_t>(file_bytes_));
    return bytes;
  }
  void put(std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, &at(end_));
    end_ = end_ + static_cast<std::int64_t>(bytes.size());
  }

  std::int64_t file_bytes_;
  PhysicalOffset min_;
  PhysicalOffset end_;
  std::map<std::int64_t, std::vector<std::byte>> files_;
  std::map<std::pair<std::string, std::int32_t>, std::int64_t> next_;
  std::vector<PhysicalOffset> records_;
  std::int64_t timestamp_ms_ = 1'700'000'000'000;
  RecordEncoder encoder_;
};

}  // namespace kerolox::storage
