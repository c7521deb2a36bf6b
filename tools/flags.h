// The flags of one sub-command: its own namespace.
//
// gflags keeps one registry a process, and its own parser ends the process where it does not like
// an argument. So a sub-command registers its flags only when it is the one that runs, gflags
// converts and checks the values, and the command line is walked here: that gives one error text,
// exit code 2, and a suggestion for a misspelt flag.
//
// Forms: --name=value, --name value, --name and --noname for switches; one dash or two; dashes and
// underscores in names are the same. Values belong to the caller and must outlive the table.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kerolox/base/result.h"

namespace kerolox::tools {

class FlagTable {
 public:
  // `value` holds the default; `name` is spelt with underscores; `form` stands for the value in the
  // help. Texts must be literals: gflags keeps the pointers.
  void text(const char* name, std::string* value, const char* form, const char* help);
  void choice(const char* name, std::string* value, std::initializer_list<const char*> choices,
              const char* help);
  void boolean(const char* name, bool* value, const char* help);
  void number(const char* name, std::int64_t* value, std::int64_t min, std::int64_t max,
              const char* help);
  // Bytes, as 4096, 64KiB, 16MiB, 3GiB.
  void size(const char* name, std::int64_t* value, std::int64_t min, const char* help);
  // May be given any number of times.
  void list(const char* name, std::vector<std::string>* values, const char* form, const char* help);

  // The flags that must be given.
  void require(std::initializer_list<const char*> names);

  enum class Parsed : std::uint8_t { kRun, kHelp };  // kHelp: --help was among the arguments
  // Errors: kInvalidArgument whose place is the argument at fault.
  Result<Parsed> parse(std::span<const std::string_view> arguments);

  bool given(std::string_view name) const { return given_.contains(std::string(name)); }

  // A line or more a flag, in the order of declaration.
  std::string help() const;

 private:
  enum class Kind : std::uint8_t { kText, kBoolean, kNumber, kSize, kList };
  struct Flag {
    const char* name = nullptr;
    Kind kind = Kind::kText;
    std::string form;
    const char* help = nullptr;
    bool required = false;
    std::string default_text;
    // Applied after gflags has converted the value.
    std::function<Result<void>(const std::string& text)> accept;
  };

  Flag& add(const char* name, Kind kind, std::string form, const char* help);
  const Flag* find(std::string_view name) const;
  Error unknown(std::string_view argument, std::string_view name) const;
  Result<Parsed> take(std::span<const std::string_view> arguments, std::size_t& at);
  Result<void> set(const Flag& flag, const std::string& value);

  std::deque<Flag> flags_;
  std::deque<std::string> texts_;  // what gflags points at, for values that it does not convert
  std::deque<std::int64_t> number_defaults_;
  std::deque<bool> boolean_defaults_;
  std::set<std::string> given_;
};

// "64KiB" and the like. Errors: kInvalidArgument.
Result<std::int64_t> parse_size(std::string_view text);

// The candidate with the fewest edits to `word`; empty if there is none.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace kerolox::tools
