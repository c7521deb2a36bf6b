// README.md tells the truth: the embedding example that it shows is the one that is built and run
// against the installed package, and the files that it names exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace kerolox {
namespace {

std::filesystem::path project() { return KEROLOX_SOURCE_DIR; }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The content of each fenced block of that language.
std::vector<std::string> blocks(const std::string& text, std::string_view language) {
  const std::string fence = "```" + std::string(language) + "\n";
  std::vector<std::string> found;
  std::size_t at = 0;
  while ((at = text.find(fence, at)) != std::string::npos) {
    const std::size_t begin = at + fence.size();
    const std::size_t end = text.find("```\n", begin);
    found.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return found;
}

TEST(ReadmeTest, ShowsTheEmbeddingExampleAsItIs) {
  const std::vector<std::string> shown = blocks(text_of(project() / "README.md"), "cpp");
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown.front(), text_of(project() / "examples/embed/main.cc"));
}

TEST(ReadmeTest, ShowsTheExamplesProjectFileAsItIs) {
  const std::vector<std::string> shown = blocks(text_of(project() / "README.md"), "cmake");
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(shown.front(), text_of(project() / "examples/embed/CMakeLists.txt"));
}

TEST(ReadmeTest, TheEmbeddingExampleHasAtMostFortyLines) {
  EXPECT_LE(std::ranges::count(text_of(project() / "examples/embed/main.cc"), '\n'), 40);
}

// Relative links of every README; what a reader clicks on must be there.
TEST(ReadmeTest, EveryRelativeLinkLeadsToAFile) {
  static const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  int links = 0;
  for (const char* folder : {"", "storage", "tools", "tests", "bench"}) {
    const std::filesystem::path readme = project() / folder / "README.md";
    const std::string text = text_of(readme);
    for (auto at = std::sregex_iterator(text.begin(), text.end(), link);
         at != std::sregex_iterator(); ++at, ++links) {
      const std::filesystem::path target = readme.parent_path() / (*at)[1].str();
      EXPECT_TRUE(std::filesystem::exists(target)) << readme << " links to " << target;
    }
  }
  EXPECT_GT(links, 0);
}

// How a map may name the file `put_command.cc`: with or without its ending, a command by its words.
std::vector<std::string> names_in_map(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  std::vector<std::string> names = {file.filename().string(), stem, stem + ".h"};
  if (const std::size_t command = stem.find("_command"); command != std::string::npos) {
    names.push_back(std::regex_replace(stem.substr(0, command), std::regex("_"), " "));
  }
  return names;
}

// A file without a row in the map of its module is a map that has gone stale.
TEST(ReadmeTest, TheMapOfEachModuleNamesEveryFile) {
  for (const char* folder : {"storage", "tools"}) {
    const std::string text = text_of(project() / folder / "README.md");
    for (const auto& entry : std::filesystem::directory_iterator(project() / folder)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".h" && ending != ".cc" && ending != ".sh") {
        continue;
      }
      const std::vector<std::string> names = names_in_map(entry.path());
      EXPECT_TRUE(std::ranges::any_of(names,
                                      [&](const std::string& name) {
                                        return text.find("`" + name + "`") != std::string::npos;
                                      }))
          << folder << "/README.md does not name " << entry.path().filename();
    }
  }
}

// And so is a row whose file is gone.
TEST(ReadmeTest, TheMapOfEachModuleNamesNoFileThatIsGone) {
  static const std::regex name(R"(`([a-z0-9_./]+\.(h|cc|sh))`)");
  for (const char* folder : {"storage", "tools"}) {
    const std::string text = text_of(project() / folder / "README.md");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), name);
         at != std::sregex_iterator(); ++at) {
      const std::filesystem::path file = project() / folder / (*at)[1].str();
      EXPECT_TRUE(std::filesystem::exists(file)) << folder << "/README.md names " << file;
    }
  }
}

}  // namespace
}  // namespace kerolox
