// A store's directory on the machine's file system, and short ways to look at it and to damage it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/scratch_directory.h"
#include "kerolox/base/file_system.h"

namespace kerolox::storage {

class StoreFixture : public ::testing::Test {
 protected:
  const std::filesystem::path& directory() const { return scratch_.path(); }
  static FileSystem& disk() { return posix_file_system(); }

  // Makes the folders above it, too.
  void write(const std::filesystem::path& name, std::string_view content) const {
    std::filesystem::create_directories((directory() / name).parent_path());
    std::ofstream file(directory() / name, std::ios::binary | std::ios::trunc);
    file << content;
    ASSERT_TRUE(file.flush().good()) << name;
  }
  void write_sized(const std::filesystem::path& name, std::uintmax_t bytes) const {
    write(name, "");
    std::filesystem::resize_file(directory() / name, bytes);
  }
  std::string read(const std::filesystem::path& name) const {
    std::ifstream file(directory() / name, std::ios::binary);
    EXPECT_TRUE(file.is_open()) << name;
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Turns over the bits of one byte.
  void rot(const std::filesystem::path& name, std::size_t at) const {
    std::string content = read(name);
    ASSERT_LT(at, content.size());
    content[at] = static_cast<char>(~content[at]);
    write(name, content);
  }

 private:
  ScratchDirectory scratch_;
};

inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

}  // namespace kerolox::storage
