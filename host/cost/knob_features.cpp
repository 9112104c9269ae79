// Knob features (knob_features.h).
#include "host/cost/knob_features.h"

#include <algorithm>
#include <limits>

namespace fettle::cost {

namespace {

std::size_t width(const space::Knob& knob) {
  std::size_t longest = 0;
  for (const auto& option : knob.options) longest = std::max(longest, option.size());
  return longest + 1;  // and the option's place in the list
}

std::size_t width(const space::Sketch& sketch) {
  std::size_t sum = 0;
  for (const space::Knob& knob : sketch.knobs) sum += width(knob);
  return sum;
}

}  // namespace

std::size_t knob_feature_count(const space::SearchSpace& space) {
  std::size_t count = 1;
  for (const space::Sketch& sketch : space.sketches()) count += width(sketch);
  return count;
}

std::vector<float> knob_features(const space::SearchSpace& space,
                                 const space::Configuration& configuration) {
  std::vector<float> features(knob_feature_count(space), std::numeric_limits<float>::quiet_NaN());
  features[0] = static_cast<float>(configuration.sketch);
  std::size_t at = 1;
  for (std::uint32_t i = 0; i < configuration.sketch; ++i) at += width(space.sketches()[i]);
  const auto& knobs = space.sketches()[configuration.sketch].knobs;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    const auto& option = knobs[k].options[configuration.choice[k]];
    features[at] = static_cast<float>(configuration.choice[k]);
    for (std::size_t i = 0; i < option.size(); ++i) {
      features[at + 1 + i] = static_cast<float>(option[i]);
    }
    at += width(knobs[k]);
  }
  return features;
}

}  // namespace fettle::cost
