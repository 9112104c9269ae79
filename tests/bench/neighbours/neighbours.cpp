// neighbours_of (neighbours.h).
#include "tests/bench/neighbours/neighbours.h"

#include <algorithm>
#include <vector>

namespace fettle::bench {
namespace {

constexpr double kCrowded = 1.2;
constexpr std::size_t kSpoiled = 9;  // looks that may be lower than the core's own figure

// The longest row of looks that all are `crowded`, or all not, in seconds.
double longest(std::span<const Look> looks, double limit, bool crowded) {
  double most = 0, first = -1;
  for (const Look& look : looks) {
    if ((look.gauge > limit) != crowded) {
      first = -1;
      continue;
    }
    if (first < 0) first = look.seconds;
    most = std::max(most, look.seconds - first);
  }
  return most;
}

}  // namespace

Neighbours neighbours_of(std::span<const Look> looks) {
  Neighbours out;
  out.looks = looks.size();
  if (looks.empty()) return out;
  std::vector<double> sorted;
  for (const Look& look : looks) sorted.push_back(look.gauge);
  std::sort(sorted.begin(), sorted.end());
  out.alone_gauge = sorted[std::min(kSpoiled, (sorted.size() - 1) / 2)];
  const double limit = kCrowded * out.alone_gauge;
  const auto crowded = std::upper_bound(sorted.begin(), sorted.end(), limit);
  const auto count = static_cast<std::size_t>(sorted.end() - crowded);
  if (count > 0) {
    out.crowded_share = static_cast<double>(count) / static_cast<double>(sorted.size());
    out.slowdown = crowded[static_cast<std::ptrdiff_t>(count / 2)] / out.alone_gauge;
  }
  out.longest_crowded_s = longest(looks, limit, true);
  out.longest_alone_s = longest(looks, limit, false);
  return out;
}

}  // namespace fettle::bench
