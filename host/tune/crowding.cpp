// Crowding (crowding.h).
#include "host/tune/crowding.h"

#include <algorithm>
#include <cmath>

#include "host/tune/evolution.h"

namespace fettle::tune {
namespace {

// Of a trial at distance 0; they fall off as the model's closeness to other places of a plan does.
constexpr double kAlways = 0.02, kStanding = 0.1;
constexpr double kStandsAfter = 24;   // trials without a better one: all of kStanding
constexpr double kBetter = 0.98;      // of the fastest time: better
constexpr std::size_t kNewest = 256;  // trials that count

}  // namespace

Crowding::Crowding(const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials)
    : space_(&space), trials_(&trials) {
  double fastest = 0, since = 0;
  for (const auto& trial : trials) {
    ++since;
    if (trial.nanoseconds <= 0 || trial.censored) continue;
    if (fastest > 0 && trial.nanoseconds >= kBetter * fastest) continue;
    fastest = trial.nanoseconds;
    since = 0;
  }
  weight_ = kAlways + kStanding * std::min(1.0, since / kStandsAfter);
}

double Crowding::of(const space::Configuration& configuration) const {
  if (trials_ == nullptr) return 0;
  double sum = 0;
  for (std::size_t i = trials_->size() - std::min(kNewest, trials_->size()); i < trials_->size();
       ++i)
    sum += std::exp(-distance(*space_, (*trials_)[i].configuration, configuration));
  return weight_ * sum;
}

}  // namespace fettle::tune
