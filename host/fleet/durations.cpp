// Parsing and writing of times (durations.h).
#include "host/fleet/durations.h"

#include <cstdint>

namespace fettle::fleet {
namespace {

struct Unit {
  char letter;
  const char* name;
  std::int64_t seconds;
};
constexpr Unit kUnits[] = {{'d', "d", 86'400}, {'h', "h", 3600}, {'m', "min", 60}, {'s', "s", 1}};
constexpr std::int64_t kMost = std::int64_t{10} * 366 * 86'400;

}  // namespace

Result<std::chrono::seconds> parse_duration(const std::string& text) {
  const Error wrong{ErrorCode::InvalidArgument,
                    "'" + text + "' is no time: write 45m, 2h, 1d12h (d, h, m, s)"};
  std::int64_t all = 0;
  std::size_t at = 0;
  for (const Unit& unit : kUnits) {
    const std::size_t end = text.find_first_not_of("0123456789", at);
    if (end == text.npos || end == at || text[end] != unit.letter) continue;
    if (end - at > 9) return wrong;
    all += std::stoll(text.substr(at, end - at)) * unit.seconds;
    at = end + 1;
  }
  if (at != text.size() || text.empty() || all > kMost) return wrong;
  return std::chrono::seconds(all);
}

std::string duration_text(std::chrono::seconds time) {
  std::int64_t left = time.count() < 0 ? 0 : time.count();
  std::string text;
  for (const Unit& unit : kUnits) {
    const std::int64_t count = left / unit.seconds;
    if (text.empty() && count == 0 && unit.seconds > 1) continue;
    const bool second = !text.empty();
    if (!second || count > 0) {
      text += (second ? " " : "") + std::to_string(count) + " " + unit.name;
    }
    if (second) break;
    left -= count * unit.seconds;
  }
  return text;
}

}  // namespace fettle::fleet
