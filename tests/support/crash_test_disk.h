// The fixture of CrashFileSystem's own tests: a disk with a durable, empty /store.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "support/crash_file_system.h"

namespace kerolox {

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class CrashTestDisk : public ::testing::Test {
 protected:
  CrashTestDisk() {
    EXPECT_TRUE(disk_.create_directories("/store"));
    EXPECT_TRUE(disk_.sync_directory("/"));
  }

  static std::filesystem::path path(std::string_view name) {
    return std::filesystem::path("/store") / name;
  }

  std::unique_ptr<File> open(std::string_view name,
                             OpenOptions::Mode mode = OpenOptions::Mode::kCreateOrOpen,
                             bool direct = false) {
    auto file = disk_.open(path(name), {.mode = mode, .direct = direct});
    EXPECT_TRUE(file) << file.error().text();
    return std::move(file).value();
  }

  // Holds exactly `text`; content and name are synced.
  std::unique_ptr<File> durable_file(std::string_view name, std::string_view text) {
    std::unique_ptr<File> file = open(name);
    EXPECT_TRUE(file->resize(0));
    EXPECT_TRUE(file->write_at(0, as_bytes(text)));
    EXPECT_TRUE(file->sync());
    EXPECT_TRUE(disk_.sync_directory("/store"));
    return file;
  }

  bool exists(std::string_view name) { return disk_.status(path(name)).has_value(); }

  static std::string read(File& file, std::int64_t offset, std::size_t bytes) {
    std::string text(bytes, '?');
    const auto count = file.read_at(offset, std::as_writable_bytes(std::span(text)));
    EXPECT_TRUE(count) << count.error().text();
    text.resize(count.value());
    return text;
  }

  static std::string read_direct(File& file, std::int64_t offset) {
    alignas(kDirectAlignment) std::array<std::byte, kDirectAlignment> buffer;
    const auto count = file.read_at(offset, buffer);
    EXPECT_TRUE(count) << count.error().text();
    return {reinterpret_cast<const char*>(buffer.data()), count.value()};
  }

  static std::string whole(CrashFileSystem& disk, const std::filesystem::path& path) {
    const auto file = disk.open(path, {});
    EXPECT_TRUE(file) << file.error().text();
    return read(**file, 0, static_cast<std::size_t>(file.value()->status().value().bytes));
  }
  std::string content(std::string_view name) { return whole(disk_, path(name)); }

  CrashFileSystem disk_;
};

}  // namespace kerolox
