// The configuration file as command-line words (options.h).
#include <sstream>

#include "agent/server/options.h"

namespace fettle::agent {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

}  // namespace

Result<std::vector<std::string>> options_of_config(const std::string& text,
                                                   const std::string& file_name) {
  std::vector<std::string> out;
  std::istringstream lines(text);
  int number = 0;
  bool in_table = false;
  std::size_t table = 0;  // where the options of the last [[device]] begin
  for (std::string line; std::getline(lines, line);) {
    ++number;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') quoted = !quoted;
      if (line[i] == '#' && !quoted) line.resize(i);
    }
    line = trimmed(line);
    if (line.empty()) continue;
    if (line == "[[device]]") {
      table = out.size();
      in_table = true;
      continue;
    }
    const std::size_t equals = line.find('=');
    const std::string name = trimmed(line.substr(0, equals));
    if (quoted || equals == std::string::npos || name.empty()) {
      return Error{ErrorCode::InvalidArgument,
                   file_name + " line " + std::to_string(number) + ": expected name = value"};
    }
    std::string value = trimmed(line.substr(equals + 1)), plain;
    if (value.size() >= 2 && value.front() == '[' && value.back() == ']') {
      value = value.substr(1, value.size() - 2);
      std::erase(value, ' ');
    }
    for (char c : value) {
      if (c != '"') plain += c;
    }
    // A device begins with its key on a command line.
    const bool first = in_table && name == "key";
    out.insert(first ? out.begin() + static_cast<std::ptrdiff_t>(table) : out.end(),
               "--" + name + "=" + plain);
  }
  return out;
}

}  // namespace fettle::agent
