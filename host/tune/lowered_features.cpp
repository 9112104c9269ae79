// LoweredFeatures (lowered_features.h).
#include "host/tune/lowered_features.h"

#include <cmath>
#include <functional>
#include <string_view>

#include "host/cost/knob_features.h"
#include "host/tune/stopwatch.h"

namespace fettle::tune {

std::size_t features_hash(std::span<const float> features) {
  if (features.empty()) return 0;
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(features.data()), features.size_bytes()});
}

std::vector<float>& LoweredFeatures::lowered(const space::Configuration& configuration) {
  auto [place, fresh] = features_.try_emplace(configuration);
  if (!fresh) return place->second;
  const Stopwatch lowering(statistics_.feature_seconds);
  ++statistics_.lowered;
  auto features = options_.features(configuration);
  if (!features || features->size() != options_.feature_count) {
    ++statistics_.unlowered;
  } else if (options_.screen && options_.screen(*features)) {
    ++statistics_.screened;
  } else {
    place->second = std::move(*features);
    pool_.push_back(configuration);
    if (options_.prior) uncorrected_.push_back(&place->second);
  }
  return place->second;
}

bool LoweredFeatures::lowers(const space::Configuration& configuration) {
  return !lowered(configuration).empty();
}

const std::vector<float>* LoweredFeatures::of(const space::Configuration& configuration) {
  const std::vector<float>& features = lowered(configuration);
  if (!uncorrected_.empty()) {
    const Stopwatch correcting(statistics_.feature_seconds);
    options_.prior->correct(uncorrected_);
    uncorrected_.clear();
  }
  return features.empty() ? nullptr : &features;
}

const std::vector<float>& LoweredFeatures::of(const Knowledge::Trial& trial) {
  if (trial.features.size() == options_.feature_count || !options_.features) return trial.features;
  const std::vector<float>* lowered = of(trial.configuration);
  return lowered ? *lowered : trial.features;
}

std::vector<float> LoweredFeatures::row(const space::Configuration& configuration,
                                        const std::vector<float>& features) const {
  std::vector<float> row = features;
  row.resize(options_.feature_count, std::nanf(""));
  const std::vector<float> knobs = cost::knob_features(space_, configuration);
  row.insert(row.end(), knobs.begin(), knobs.end());
  return row;
}

}  // namespace fettle::tune
