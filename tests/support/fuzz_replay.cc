// The main program of a fuzzer in builds without libFuzzer: feeds each file of the directories and
// files named on the command line once. A corpus that is empty is an error, so that the test cannot
// pass by testing nothing.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void feed(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::vector<std::filesystem::path> roots(arguments + 1, arguments + argument_count);
  int count = 0;
  for (const auto& root : roots) {
    if (!std::filesystem::is_directory(root)) {
      feed(root);
      ++count;
      continue;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.is_regular_file()) {
        feed(entry.path());
        ++count;
      }
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
