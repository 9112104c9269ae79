// Experience (experience.h).
#include "host/cost/experience.h"

namespace fettle::cost {

void Experience::add(const std::string& task, Sample sample) {
  const std::lock_guard lock(mutex_);
  std::vector<Sample>& samples = samples_[task];
  samples.push_back(std::move(sample));
  if (samples.size() > kPerTask) samples.erase(samples.begin());
}

std::vector<Sample> Experience::beside(const std::string& task) const {
  const std::lock_guard lock(mutex_);
  std::vector<Sample> others;
  for (const auto& [name, samples] : samples_) {
    if (name == task) continue;
    double best = 0;
    for (const Sample& sample : samples) {
      if (sample.censored || sample.nanoseconds <= 0) continue;
      if (best == 0 || sample.nanoseconds < best) best = sample.nanoseconds;
    }
    if (best == 0) continue;
    for (const Sample& sample : samples) {
      others.push_back(sample);
      others.back().nanoseconds /= best;
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
