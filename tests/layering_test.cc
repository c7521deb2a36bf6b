// The arrows of the architecture: which module may include whose public headers. Reads every
// #include of the project and compares it with the table below, so that a wrong arrow fails a test
// before it grows into a cycle.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kerolox {
namespace {

namespace fs = std::filesystem;

// Modules whose public headers a module may include beside its own.
const std::map<std::string, std::set<std::string>>& allowed_modules() {
  static const std::map<std::string, std::set<std::string>> table = {
      {"base", {}},
      {"storage", {"base"}},
  };
  return table;
}

// Programs: they may include anything, nobody may include them.
const std::set<std::string> kPrograms = {"bench", "examples", "tests", "tools"};

// Headers of the operating system that public headers may include; all headers of the standard
// library have no dot in their name.
const std::set<std::string> kSystemHeadersInPublic = {};

struct Include {
  fs::path file;  // relative to the project
  int line = 0;
  bool angled = false;
  std::string name;

  std::string place() const { return file.string() + ":" + std::to_string(line) + ": " + name; }
};

std::vector<Include> includes_of(const fs::path& root, const fs::path& path) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> found;
  std::ifstream file(path);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    std::smatch match;
    if (std::regex_search(text, match, pattern)) {
      found.push_back({fs::relative(path, root), line, match[1] == "<", match[2]});
    }
  }
  return found;
}

std::vector<Include> all_includes() {
  const fs::path root = KEROLOX_SOURCE_DIR;
  std::vector<Include> found;
  for (const char* folder : {"storage", "tools", "tests", "bench", "examples"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (entry.is_regular_file() && (extension == ".h" || extension == ".cc")) {
        const std::vector<Include> more = includes_of(root, entry.path());
        found.insert(found.end(), more.begin(), more.end());
      }
    }
  }
  return found;
}

// "storage/base/..." is the module base, "storage/..." the module storage, "tools/..." the program.
std::string owner_of_file(const fs::path& file) {
  if (file.string().starts_with("storage/base/")) {
    return "base";
  }
  return file.begin()->string();
}

// The module whose header an include names, or nothing if it is not one of ours.
std::optional<std::string> owner_of_include(const Include& include) {
  const std::string& name = include.name;
  if (name.starts_with("kerolox/")) {
    return name.substr(8, name.find('/', 8) - 8);
  }
  if (include.angled || name.find('/') == std::string::npos) {
    return std::nullopt;
  }
  return owner_of_file(name);
}

bool is_program(const std::string& owner) { return kPrograms.contains(owner); }

bool is_public_header(const fs::path& file) {
  return file.string().find("/include/kerolox/") != std::string::npos;
}

TEST(LayeringTest, EveryIncludeFollowsAnArrowOfTheTable) {
  for (const Include& include : all_includes()) {
    const std::string from = owner_of_file(include.file);
    const std::optional<std::string> to = owner_of_include(include);
    if (is_program(from) || !to || *to == from) {
      continue;
    }
    ASSERT_TRUE(allowed_modules().contains(from)) << from << " is no module of the table";
    EXPECT_TRUE(allowed_modules().at(from).contains(*to)) << include.place();
  }
}

TEST(LayeringTest, ModulesReachEachOtherThroughPublicHeadersOnly) {
  for (const Include& include : all_includes()) {
    const std::string from = owner_of_file(include.file);
    const std::optional<std::string> to = owner_of_include(include);
    if (is_program(from) || !to || *to == from) {
      continue;
    }
    EXPECT_TRUE(include.name.starts_with("kerolox/")) << include.place();
  }
}

TEST(LayeringTest, NobodyIncludesProgramsButProgramsThemselves) {
  for (const Include& include : all_includes()) {
    const std::optional<std::string> to = owner_of_include(include);
    if (!to || !is_program(*to)) {
      continue;
    }
    EXPECT_TRUE(is_program(owner_of_file(include.file))) << include.place();
  }
}

TEST(LayeringTest, PublicHeadersIncludePublicHeadersOnly) {
  for (const Include& include : all_includes()) {
    if (is_public_header(include.file) && !include.angled) {
      EXPECT_TRUE(include.name.starts_with("kerolox/")) << include.place();
    }
  }
}

TEST(LayeringTest, PublicHeadersAreFreeOfThirdPartyIncludes) {
  for (const Include& include : all_includes()) {
    if (is_public_header(include.file) && include.angled) {
      const bool standard = include.name.find_first_of("./") == std::string::npos;
      EXPECT_TRUE(standard || kSystemHeadersInPublic.contains(include.name)) << include.place();
    }
  }
}

TEST(LayeringTest, TheIncludesAreReallyRead) {
  const std::vector<Include> includes = all_includes();
  const auto found = std::ranges::find_if(includes, [](const Include& include) {
    return include.file == "storage/base/error.cc" && include.name == "kerolox/base/error.h";
  });
  EXPECT_NE(found, includes.end());
}

}  // namespace
}  // namespace kerolox
