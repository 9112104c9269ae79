// Distance of configurations (evolution.h).
#include "host/tune/evolution.h"

#include <cmath>

namespace fettle::tune {

double distance(const space::SearchSpace& space, const space::Configuration& a,
                const space::Configuration& b) {
  if (a.sketch != b.sketch) return 1e9;
  const auto& knobs = space.sketches()[a.sketch].knobs;
  double sum = 0;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (a.choice[k] == b.choice[k]) continue;
    const double apart = std::fabs(double(a.choice[k]) - double(b.choice[k]));
    sum += 0.5 + 0.5 * apart / static_cast<double>(knobs[k].options.size() - 1);
  }
  return sum;
}

}  // namespace fettle::tune
