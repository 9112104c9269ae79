// Optimal string alignment distance (nearest.h).
#include "host/app/nearest.h"

#include <algorithm>

namespace fettle::app {
namespace {

constexpr std::size_t kMost = 2;

std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> least(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        least[i][j] = i + j;
        continue;
      }
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      least[i][j] =
          std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
    }
  }
  return least[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& known) {
  if (word.empty()) return "";
  std::size_t best = 2 * std::min(kMost + 1, (word.size() + 1) / 2) - 1;
  std::string found;
  for (const std::string& each : known) {
    if (each.size() > word.size() + kMost || word.size() > each.size() + kMost) continue;
    // Of two that are as near, the one that it begins.
    const std::size_t far = 2 * distance(word, each) - (each.starts_with(word) ? 1 : 0);
    if (far > best || (far == best && found.empty())) continue;
    found = far == best ? "" : each;
    best = far;
  }
  return found;
}

}  // namespace fettle::app
