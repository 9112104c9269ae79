// The last line of what a program writes with --json: its summary.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace fettle::bench {

// Discarded (no object) where it is not JSON.
inline nlohmann::json last_json_line(const std::string& lines) {
  const std::size_t end = lines.find_last_not_of('\n');
  const std::size_t begin = end == lines.npos ? lines.npos : lines.rfind('\n', end);
  return nlohmann::json::parse(lines.substr(begin == lines.npos ? 0 : begin + 1), nullptr, false);
}

}  // namespace fettle::bench
