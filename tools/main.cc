// kerolox: one binary, a sub-command for each task.

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command.h"
#include "tools/flags.h"
#include "tools/output.h"

namespace kerolox::tools {
namespace {

using Factory = std::unique_ptr<Command> (*)();
constexpr std::array<Factory, 8> kFactories = {
    put_command,          get_command,           store_inspect_command, store_verify_command,
    store_export_command, store_recover_command, bench_append_command,  bench_read_command};

std::string overview(std::string_view group) {
  std::string text = "kerolox: an embeddable message store, compatible with Apache RocketMQ\n\n";
  for (const Factory factory : kFactories) {
    const std::unique_ptr<Command> command = factory();
    if (group.empty() || command->name().starts_with(std::string(group) + " ")) {
      std::string left = "  kerolox " + std::string(command->name());
      left.append(left.size() < 27 ? 27 - left.size() : 1, ' ');
      text.append(left).append(command->summary()).append("\n");
    }
  }
  return text.append(
      "\n`kerolox help COMMAND` or `kerolox COMMAND --help` lists its flags; "
      "`kerolox --version`.\nExit codes: 0 good, 1 found a problem, 2 wrong use.\n");
}

std::string help_of(const Command& command, const FlagTable& flags) {
  std::string text = "kerolox " + std::string(command.name()) + " " + std::string(command.usage()) +
                     "\n\n" + std::string(command.summary()) + "\n";
  text.append(command.notes());
  return text.append("\n").append(flags.help());
}

int say(const std::string& text) {
  Output output;
  output.add(text);
  const Result<void> said = output.flush();
  return said ? static_cast<int>(kGood) : fail("", said.error());
}

struct Chosen {
  std::unique_ptr<Command> command;  // nullptr: none of that name
  std::size_t words = 0;             // that its name took
};

Chosen choose(const std::vector<std::string_view>& words) {
  for (const Factory factory : kFactories) {
    std::unique_ptr<Command> command = factory();
    std::string typed;
    for (std::size_t count = 1; count <= 2 && count <= words.size(); ++count) {
      typed.append(count == 1 ? "" : " ").append(words[count - 1]);
      if (typed == command->name()) {
        return {std::move(command), count};
      }
    }
  }
  return {};
}

// `store` alone names a group of commands.
bool is_group(std::string_view word) { return word == "store" || word == "bench"; }

int unknown_command(const std::vector<std::string_view>& words) {
  std::string typed(words[0]);
  if (words.size() > 1 && !words[1].starts_with("-")) {
    typed.append(" ").append(words[1]);
  }
  std::vector<std::string> owned;
  owned.reserve(kFactories.size());
  for (const Factory factory : kFactories) {
    owned.emplace_back(factory()->name());
  }
  const std::vector<std::string_view> names(owned.begin(), owned.end());
  const bool group = is_group(words[0]);
  return fail(
      "",
      Error(ErrorCode::kInvalidArgument, group ? "needs one of its commands" : "no such command")
          .at(typed)
          .with_remedy("did you mean " +
                       std::string(nearest(group ? typed : std::string(words[0]), names)) +
                       "? `kerolox help` lists them all"));
}

int help(const std::vector<std::string_view>& words) {
  if (words.empty()) {
    return say(overview(""));
  }
  if (words.size() == 1 && is_group(words[0])) {
    return say(overview(words[0]));
  }
  const Chosen chosen = choose(words);
  if (chosen.command == nullptr || chosen.words != words.size()) {
    return unknown_command(words);
  }
  FlagTable flags;
  chosen.command->declare(flags);
  return say(help_of(*chosen.command, flags));
}

int run_command(Command& command, std::span<const std::string_view> arguments) {
  FlagTable flags;
  command.declare(flags);
  const Result<FlagTable::Parsed> parsed = flags.parse(arguments);
  if (!parsed) {
    return fail(command.name(), parsed.error());
  }
  if (*parsed == FlagTable::Parsed::kHelp) {
    return say(help_of(command, flags));
  }
  return command.run(flags);
}

int main_with(const std::vector<std::string_view>& words) {
  if (words.empty()) {
    return help({});
  }
  if (words[0] == "--version" || words[0] == "-version" || words[0] == "version") {
    return say("kerolox " KEROLOX_VERSION "\n");
  }
  if (words[0] == "help" || words[0] == "--help" || words[0] == "-h") {
    return help({words.begin() + 1, words.end()});
  }
  if (words.size() == 2 && is_group(words[0]) && (words[1] == "--help" || words[1] == "-h")) {
    return help({words[0]});
  }
  const Chosen chosen = choose(words);
  if (chosen.command == nullptr) {
    return unknown_command(words);
  }
  return run_command(*chosen.command, std::span(words).subspan(chosen.words));
}

}  // namespace
}  // namespace kerolox::tools

int main(int argument_count, char** arguments) {
  return kerolox::tools::main_with(
      {arguments + (argument_count > 0 ? 1 : 0), arguments + argument_count});
}
