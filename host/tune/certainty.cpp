// Certainty (certainty.h).
#include "host/tune/certainty.h"

#include <algorithm>
#include <cmath>

#include "schemas/wire/clock_domain.h"

namespace fettle::tune {

void Certainty::add(const wire::MeasurementT& measurement) {
  if (measurement.censored || measurement.median <= 0 || measurement.samples.size() < 2) return;
  if (clock_facts(measurement.clock).deterministic) return;
  const double half = (measurement.interval_high - measurement.interval_low) / 2;
  if (!std::isfinite(half) || half < 0) return;  // a board may tell anything
  half_intervals_.push_back(static_cast<float>(half / measurement.median));
  // Borrowed samples are among the disturbed ones, too.
  samples_ += measurement.samples.size() - measurement.borrowed + measurement.disturbed;
  disturbed_ += measurement.disturbed;
}

double Certainty::half_interval() const {
  if (half_intervals_.empty()) return 0;
  std::vector<float> sorted = half_intervals_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return static_cast<double>(*middle);
}

double Certainty::disturbed_share() const {
  return samples_ > 0 ? static_cast<double>(disturbed_) / static_cast<double>(samples_) : 0;
}

}  // namespace fettle::tune
