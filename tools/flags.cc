#include "tools/flags.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace kerolox::tools {
namespace {

Error wrong_use(std::string_view argument, std::string message, std::string remedy) {
  return Error(ErrorCode::kInvalidArgument, std::move(message))
      .at(std::string(argument))
      .with_remedy(std::move(remedy));
}

std::string underscored(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string in_range(std::int64_t min, std::int64_t max) {
  std::string text = "give a number from " + std::to_string(min);
  return max == std::numeric_limits<std::int64_t>::max() ? text + " up"
                                                         : text + " to " + std::to_string(max);
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::numeric_limits<std::size_t>::max();
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

Result<std::int64_t> parse_size(std::string_view text) {
  const Error fault(ErrorCode::kInvalidArgument, "not a size: " + std::string(text));
  std::int64_t number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || number < 0) {
    return fault;
  }
  const std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  constexpr std::pair<std::string_view, int> kUnits[] = {{"", 0},     {"B", 0},    {"KiB", 10},
                                                         {"MiB", 20}, {"GiB", 30}, {"TiB", 40}};
  for (const auto& [name, shift] : kUnits) {
    if (unit == name && number <= (std::numeric_limits<std::int64_t>::max() >> shift)) {
      return number << shift;
    }
  }
  return fault;
}

FlagTable::Flag& FlagTable::add(const char* name, Kind kind, std::string form, const char* help) {
  Flag& flag = flags_.emplace_back();
  flag.name = name;
  flag.kind = kind;
  flag.form = std::move(form);
  flag.help = help;
  return flag;
}

void FlagTable::text(const char* name, std::string* value, const char* form, const char* help) {
  add(name, Kind::kText, form, help).default_text = *value;
  gflags::FlagRegisterer(name, help, __FILE__, value, &texts_.emplace_back(*value));
}

void FlagTable::choice(const char* name, std::string* value,
                       std::initializer_list<const char*> choices, const char* help) {
  std::string form;
  for (const char* choice : choices) {
    form.append(form.empty() ? "" : "|").append(choice);
  }
  Flag& flag = add(name, Kind::kText, form, help);
  flag.default_text = *value;
  flag.accept = [form, allowed = std::vector<std::string>(choices.begin(), choices.end()),
                 argument = "--" + std::string(name)](const std::string& chosen) -> Result<void> {
    if (std::find(allowed.begin(), allowed.end(), chosen) != allowed.end()) {
      return {};
    }
    return wrong_use(argument, "no such choice: " + chosen, "give one of " + form);
  };
  gflags::FlagRegisterer(name, help, __FILE__, value, &texts_.emplace_back(*value));
}

void FlagTable::boolean(const char* name, bool* value, const char* help) {
  add(name, Kind::kBoolean, "", help).default_text = *value ? "true" : "false";
  gflags::FlagRegisterer(name, help, __FILE__, value, &boolean_defaults_.emplace_back(*value));
}

void FlagTable::number(const char* name, std::int64_t* value, std::int64_t min, std::int64_t max,
                       const char* help) {
  Flag& flag = add(name, Kind::kNumber, "N", help);
  flag.default_text = std::to_string(*value);
  flag.accept = [value, min, max,
                 argument = "--" + std::string(name)](const std::string& text) -> Result<void> {
    if (*value < min || *value > max) {
      return wrong_use(argument, "out of range: " + text, in_range(min, max));
    }
    return {};
  };
  gflags::FlagRegisterer(name, help, __FILE__, value, &number_defaults_.emplace_back(*value));
}

void FlagTable::size(const char* name, std::int64_t* value, std::int64_t min, const char* help) {
  Flag& flag = add(name, Kind::kSize, "SIZE", help);
  flag.default_text = std::to_string(*value);
  flag.accept = [value, min,
                 argument = "--" + std::string(name)](const std::string& text) -> Result<void> {
    const Result<std::int64_t> bytes = parse_size(text);
    if (!bytes || *bytes < min) {
      return wrong_use(
          argument, bytes ? "too small: " + text : "not a size: " + text,
          "give bytes, from " + std::to_string(min) + " up, as 4096, 64KiB, 16MiB or 3GiB");
    }
    *value = *bytes;
    return {};
  };
  std::string& converted = texts_.emplace_back();
  gflags::FlagRegisterer(name, help, __FILE__, &converted, &texts_.emplace_back());
}

void FlagTable::list(const char* name, std::vector<std::string>* values, const char* form,
                     const char* help) {
  add(name, Kind::kList, form, help).accept = [values](const std::string& text) -> Result<void> {
    values->push_back(text);
    return {};
  };
  std::string& converted = texts_.emplace_back();
  gflags::FlagRegisterer(name, help, __FILE__, &converted, &texts_.emplace_back());
}

void FlagTable::require(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (Flag& flag : flags_) {
      flag.required = flag.required || std::string_view(flag.name) == name;
    }
  }
}

const FlagTable::Flag* FlagTable::find(std::string_view name) const {
  for (const Flag& flag : flags_) {
    if (name == flag.name) {
      return &flag;
    }
  }
  return nullptr;
}

Error FlagTable::unknown(std::string_view argument, std::string_view name) const {
  std::vector<std::string_view> names{"help"};
  for (const Flag& flag : flags_) {
    names.emplace_back(flag.name);
  }
  return wrong_use(argument, "unknown flag",
                   "did you mean --" + std::string(nearest(name, names)) +
                       "? The command's --help lists them all");
}

Result<void> FlagTable::set(const Flag& flag, const std::string& value) {
  const std::string argument = "--" + std::string(flag.name);
  if (gflags::SetCommandLineOption(flag.name, value.c_str()).empty()) {
    return wrong_use(argument, "not a value it takes: " + value,
                     flag.kind == Kind::kBoolean ? "give true or false" : "give a whole number");
  }
  // gflags takes its values as C strings.
  if (value.find('\0') != std::string::npos) {
    return wrong_use(argument, "has a zero byte", "leave it out");
  }
  given_.insert(flag.name);
  return flag.accept ? flag.accept(value) : Result<void>{};
}

// Takes the flag at `at` and moves `at` behind it.
Result<FlagTable::Parsed> FlagTable::take(std::span<const std::string_view> arguments,
                                          std::size_t& at) {
  const std::string_view argument = arguments[at++];
  std::string_view body = argument.substr(argument.starts_with("--") ? 2 : 1);
  const std::size_t equals = body.find('=');
  const bool has_value = equals != std::string_view::npos;
  const std::string name = underscored(body.substr(0, equals));
  std::string value(has_value ? body.substr(equals + 1) : std::string_view());
  if (name == "help" || name == "h") {
    return Parsed::kHelp;
  }
  const Flag* flag = find(name);
  if (flag == nullptr && !has_value && name.starts_with("no")) {
    flag = find(std::string_view(name).substr(name.starts_with("no_") ? 3 : 2));
    if (flag != nullptr && flag->kind == Kind::kBoolean) {
      KEROLOX_RETURN_IF_ERROR(set(*flag, "false"));
      return Parsed::kRun;
    }
    flag = nullptr;
  }
  if (flag == nullptr) {
    return unknown(argument.substr(0, argument.find('=')), name);
  }
  if (!has_value && flag->kind == Kind::kBoolean) {
    value = "true";
  } else if (!has_value) {
    if (at == arguments.size() || arguments[at].starts_with("--")) {
      return wrong_use(argument, "needs a value",
                       "write --" + std::string(flag->name) + "=" + flag->form);
    }
    value = arguments[at++];
  }
  KEROLOX_RETURN_IF_ERROR(set(*flag, value));
  return Parsed::kRun;
}

Result<FlagTable::Parsed> FlagTable::parse(std::span<const std::string_view> arguments) {
  std::size_t at = 0;
  while (at < arguments.size()) {
    if (!arguments[at].starts_with("-") || arguments[at] == "-" || arguments[at] == "--") {
      return wrong_use(arguments[at], "unexpected argument", "all arguments are --flag=value");
    }
    KEROLOX_ASSIGN_OR_RETURN(const Parsed parsed, take(arguments, at));
    if (parsed == Parsed::kHelp) {
      return parsed;
    }
  }
  for (const Flag& flag : flags_) {
    if (flag.required && !given(flag.name)) {
      return wrong_use("--" + std::string(flag.name), "is missing",
                       "add --" + std::string(flag.name) + "=" + flag.form);
    }
  }
  return Parsed::kRun;
}

std::string FlagTable::help() const {
  std::string text;
  for (const Flag& flag : flags_) {
    std::string left = "  --" + std::string(flag.name);
    if (!flag.form.empty()) {
      left.append("=").append(flag.form);
    }
    left.append(left.size() < 30 ? std::string(30 - left.size(), ' ') : "  ");
    text.append(left).append(flag.help);
    if (flag.required) {
      text.append(" (required)");
    } else if (!flag.default_text.empty()) {
      text.append(" (default ").append(flag.default_text).append(")");
    }
    text.append("\n");
  }
  return text;
}

}  // namespace kerolox::tools
