// What plans share (evolution.h).
#include "host/tune/evolution.h"

#include <algorithm>
#include <cmath>

namespace fettle::tune {
namespace {

// A task of so many trials is worth plain thought: that many draws, generations and children. One
// of others is worth as much more or less, within these bounds.
constexpr double kPlainTrials = 64, kLeastThought = 0.4, kMostThought = 3;

}  // namespace

std::size_t worth_thought(const SearcherOptions& options, std::size_t count) {
  if (options.trials == 0) return count;
  const double share =
      std::clamp(static_cast<double>(options.trials) / kPlainTrials, kLeastThought, kMostThought);
  return static_cast<std::size_t>(static_cast<double>(count) * share);
}

std::size_t paced(double thought, std::size_t count) {
  return static_cast<std::size_t>(std::ceil(thought * static_cast<double>(count)));
}

double distance(const space::SearchSpace& space, const space::Configuration& a,
                const space::Configuration& b) {
  if (a.sketch != b.sketch) return 1e9;
  double sum = 0;
  for (std::size_t k = 0; k < a.choice.size(); ++k) {
    if (a.choice[k] == b.choice[k]) continue;
    sum += 0.5 + 0.5 * space.scale(a.sketch, k).apart(a.choice[k], b.choice[k]);
  }
  return sum;
}

}  // namespace fettle::tune
