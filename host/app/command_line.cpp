// read_command_line (command_line.h).
#include "host/app/command_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include "host/app/message.h"
#include "host/app/nearest.h"
#include "host/fleet/keys.h"

namespace fettle::app {
namespace {

// Before CLI11 reads it: it would take 010 for 8, -1 for 2^64-1, and the largest number for one
// that is larger.
template <typename Number>
std::string make_decimal(std::string& text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc::result_out_of_range) return text + " is out of range";
  if (read.ec != std::errc() || read.ptr != end) {
    return std::string("takes a whole number") +
           (std::is_unsigned_v<Number> ? " that is not negative" : "") + ", not \"" + text + "\"";
  }
  text = std::to_string(number);
  return "";
}

// CLI11's ranges let NaN through.
std::string not_finite(const std::string& text) {
  return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : "takes a number, not " + text;
}

std::string wrong_public_key(const std::string& text) {
  const auto right = fleet::check_public_key(text);
  return text.empty() || right ? "" : right.error().message;
}

// What is looked at the same way wherever it stands.
void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (option->check_lname("broker-key")) option->check(wrong_public_key);
    if (type.starts_with("FLOAT")) option->check(not_finite);
    if (type.starts_with("INT")) {
      option->transform(CLI::Validator(make_decimal<std::int64_t>, ""));
    } else if (type.starts_with("UINT")) {
      option->transform(CLI::Validator(make_decimal<std::uint64_t>, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    check_values(*command);
  }
}

std::string meant(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = nearest(word, known);
  return near.empty() ? "" : " (did you mean " + near + "?)";
}

std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) all.push_back("--" + name);
  }
  return all;
}

std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; })) {
    if (!one->get_group().empty()) names.push_back(one->get_name());
  }
  return names;
}

std::string those_of(const CLI::App& command) {
  std::string known;
  for (const std::string& name : commands_of(command)) known += (known.empty() ? "" : ", ") + name;
  return "; the commands are: " + known;
}

std::string no_command(const CLI::App& command, const std::string& path, const std::string& word) {
  return "no command \"" + path + "\"" + meant(word, commands_of(command)) + those_of(command);
}

// CLI11 says "A subcommand is required" also where one was given that does not exist.
std::string told(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;  // the innermost that was named
  std::string path;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().back();
    path += command->get_name() + " ";
  }
  const std::vector<std::string> words = command->remaining();
  if (command->get_require_subcommand_min() == 0) {
    const bool extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
    if (!extra || words.empty()) return error.what();
    // CLI11 names all words behind it too, the last one first.
    const bool option = words[0].starts_with("-");
    const char* const what = option ? "no option \"" : "one word too many: \"";
    return app.get_name() + " " + path.substr(0, path.size() - 1) + ": " + what + words[0] + "\"" +
           (option ? meant(words[0].substr(0, words[0].find('=')), options_of(*command)) : "");
  }
  if (words.empty()) return "a command is missing" + those_of(*command);
  if (!words[0].starts_with("-")) return no_command(*command, path + words[0], words[0]);
  return "no option \"" + path + words[0] + "\"" + those_of(*command);
}

// Of `help` and names of commands: what is wrong about them; "": nothing.
std::string wrong_topic(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  std::string path;
  for (const std::string& word : words) {
    const auto known = command->get_subcommands([](const CLI::App*) { return true; });
    if (known.empty() || word.starts_with("-")) return "";
    const auto named = std::find_if(known.begin(), known.end(),
                                    [&](const CLI::App* one) { return one->get_name() == word; });
    if (named == known.end()) return no_command(*command, path + word, word);
    command = *named;
    path += word + " ";
  }
  return "";
}

}  // namespace

std::optional<int> read_command_line(CLI::App& app, int argc, char** argv,
                                     const std::function<void(const std::string&)>& tell) {
  check_values(app);
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "help") {  // of a command, as git has it
    words.erase(words.begin());
    if (const std::string wrong = wrong_topic(app, words); !wrong.empty()) {
      tell(wrong);
      return kUsage;
    }
    words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  try {
    app.parse(std::move(words));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    const std::string& name = app.get_name();
    tell(told(app, error) + "; `" + name + " --help` and `" + name + " COMMAND --help` tell more");
    return kUsage;
  }
  return std::nullopt;
}

}  // namespace fettle::app
