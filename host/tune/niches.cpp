// Niches (niches.h).
#include "host/tune/niches.h"

#include <algorithm>
#include <map>
#include <utility>

namespace fettle::tune {
namespace {

constexpr std::size_t kMostValues = 12;  // of a place among a knob's numbers

}  // namespace

Niches::Niches(const space::SearchSpace& space) {
  for (const space::Sketch& sketch : space.sketches()) {
    auto& of_sketch = niches_.emplace_back();
    for (const space::Knob& knob : sketch.knobs) {
      auto& of_knob = of_sketch.emplace_back(knob.options.size());
      std::size_t numbers = 0;
      for (const auto& option : knob.options) numbers = std::max(numbers, option.size());
      for (std::size_t place = 0; place < numbers; ++place) {
        std::map<std::int64_t, std::size_t> values;  // to niches
        for (const auto& option : knob.options) {
          if (place < option.size()) values.try_emplace(option[place], count_ + values.size());
        }
        if (values.size() < 2 || values.size() > kMostValues) continue;
        for (std::size_t i = 0; i < knob.options.size(); ++i) {
          const auto& option = knob.options[i];
          if (place < option.size()) of_knob[i].push_back(values.at(option[place]));
        }
        count_ += values.size();
      }
    }
  }
}

std::vector<std::size_t> Niches::of(const space::Configuration& configuration) const {
  std::vector<std::size_t> all;
  const auto& of_sketch = niches_[configuration.sketch];
  for (std::size_t k = 0; k < of_sketch.size(); ++k) {
    const auto& here = of_sketch[k][configuration.choice[k]];
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

std::vector<std::size_t> champions(const Niches& niches,
                                   const std::vector<const space::Configuration*>& ranked) {
  std::vector<bool> held(niches.count());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    bool first = false;
    for (const std::size_t niche : niches.of(*ranked[i])) {
      first |= !held[niche];
      held[niche] = true;
    }
    if (first) places.push_back(i);
  }
  return places;
}

}  // namespace fettle::tune
