// Experience (experience.h).
#include "host/cost/experience.h"

#include <cmath>

namespace fettle::cost {

namespace {

// Null: no time was measured whole.
const Sample* fastest(const std::vector<Sample>& samples) {
  const Sample* best = nullptr;
  for (const Sample& sample : samples) {
    if (sample.censored || sample.nanoseconds <= 0) continue;
    if (!best || sample.nanoseconds < best->nanoseconds) best = &sample;
  }
  return best;
}

}  // namespace

void Experience::add(const std::string& task, Sample sample) {
  const std::lock_guard lock(mutex_);
  std::vector<Sample>& samples = samples_[task];
  samples.push_back(std::move(sample));
  if (samples.size() <= kPerTask) return;
  const bool oldest_is_fastest = fastest(samples) == samples.data();
  samples.erase(samples.begin() + (oldest_is_fastest ? 1 : 0));
}

std::vector<Sample> Experience::beside(const std::string& task,
                                       std::optional<std::size_t> estimate) const {
  const std::lock_guard lock(mutex_);
  std::vector<Sample> others;
  for (const auto& [name, samples] : samples_) {
    if (name == task) continue;
    const Sample* const best = fastest(samples);
    if (!best) continue;
    for (const Sample& sample : samples) {
      others.push_back(sample);
      others.back().nanoseconds /= best->nanoseconds;
      if (!estimate) continue;
      others.back().nanoseconds *=
          std::exp2(best->features.at(*estimate) - sample.features.at(*estimate));
    }
  }
  return others;
}

std::size_t Experience::size() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [name, samples] : samples_) sum += samples.size();
  return sum;
}

}  // namespace fettle::cost
