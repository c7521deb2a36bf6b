// Reads the golden files. A file that is missing or malformed aborts the test program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace kerolox::test {

inline std::string read_golden(const std::string& path_under_golden) {
  const auto path = std::filesystem::path(KEROLOX_SOURCE_DIR) / "tests/golden" / path_under_golden;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::cerr << "cannot read " << path << "\n";
    std::abort();
  }
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

inline std::vector<std::byte> bytes_of_hex(const std::string& hex) {
  std::vector<std::byte> bytes;
  int high = -1;
  for (const char character : hex) {
    if (character == '\n') {
      continue;
    }
    const std::size_t digit = std::string("0123456789abcdef").find(character);
    if (digit == std::string::npos) {
      std::cerr << "no hexadecimal digit: " << character << "\n";
      std::abort();
    }
    if (high < 0) {
      high = static_cast<int>(digit);
    } else {
      bytes.push_back(static_cast<std::byte>(high * 16 + static_cast<int>(digit)));
      high = -1;
    }
  }
  return bytes;
}

inline std::vector<std::byte> read_golden_hex(const std::string& path_under_golden) {
  return bytes_of_hex(read_golden(path_under_golden));
}

}  // namespace kerolox::test
