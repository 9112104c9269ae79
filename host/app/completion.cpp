// bash_completion (completion.h) and `fettle completion`.
#include "host/app/completion.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/app/commands.h"
#include "host/app/message.h"
#include "host/model/task_list.h"
#include "host/model/zoo/zoo.h"

namespace fettle::app {
namespace {

std::vector<std::string> long_options(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& command) {
  std::vector<const CLI::App*> shown;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_group().empty()) shown.push_back(one);
  }
  return shown;
}

// Of a type's name as --help shows it: "TEXT:{auto,cold,warm}". Empty: anything.
std::string choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  std::string choices = type.substr(begin + 1, end - begin - 1);
  std::ranges::replace(choices, ',', ' ');
  return choices;
}

// The branches of the script's three `case`s. `path`: the words up to a command, "fettle records".
struct Branches {
  std::string commands, words, values;

  void add(const CLI::App& command, const std::string& path, const NamesOfCommands& names) {
    std::vector<std::string> below;
    for (const CLI::App* one : shown_commands(command)) {
      below.push_back(one->get_name());
      commands += fmt::format("      \"{} {}\") path+=\" $word\" ;;\n", path, one->get_name());
    }
    const auto known = names.find(command.get_name());
    const bool takes_names = known != names.end();
    const bool only_commands = !below.empty();
    words += fmt::format("    \"{}\") words='{}' options='{}'{} ;;\n", path,
                         fmt::join(takes_names ? known->second : below, " "),
                         fmt::join(long_options(command), " "), only_commands ? " files=" : "");
    for (const CLI::Option* option : command.get_options()) {
      const std::string choices = choices_of(*option);
      if (choices.empty()) continue;
      for (const std::string& name : option->get_lnames()) {
        values += fmt::format("    \"{} --{}\") values='{}' ;;\n", path, name, choices);
      }
    }
    for (const CLI::App* one : shown_commands(command))
      add(*one, path + " " + one->get_name(), names);
  }
};

// COMP_WORDS holds "--option=value" as three words.
constexpr const char* kScript =
    R"(# Completes {0}'s words in bash, and in zsh after `autoload -U bashcompinit; bashcompinit`.
_{0}() {{
  local path={0} word line i words= options= values= files=1
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    case "$path $word" in
{1}    esac
  done
  case "$path $before" in
{3}  esac
  case "$path" in
{2}  esac
  COMPREPLY=()
  if [[ -n $values ]]; then
    words=$values
  elif [[ $current == -* ]]; then
    words=$options
  elif [[ -n $files ]]; then
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -W "$words" -- "$current")
}}
complete -F _{0} {0}
)";

int run(const CLI::App& app) {
  std::vector<std::string> zoo;
  for (const model::ZooNetwork& network : model::zoo()) zoo.push_back(network.name);
  const auto tuned = model::network_names();
  print("{}", bash_completion(app, {{"zoo", zoo}, {"tune", tuned}, {"tasks", tuned}}));
  return kFine;
}

}  // namespace

std::string bash_completion(const CLI::App& app, const NamesOfCommands& names) {
  Branches branches;
  branches.add(app, app.get_name(), names);
  return fmt::format(kScript, app.get_name(), branches.commands, branches.words, branches.values);
}

void add_completion_command(CLI::App& app, int& status) {
  auto* completion = app.add_subcommand(
      "completion", "Writes what a shell completes words with: source <(fettle completion bash)");
  completion->add_option("SHELL", "bash; zsh takes the same after bashcompinit")
      ->required()
      ->check(CLI::IsMember({"bash"}));
  completion->footer("The Debian package installs it.");
  completion->callback([&app, &status] { status = run(app); });
}

}  // namespace fettle::app
