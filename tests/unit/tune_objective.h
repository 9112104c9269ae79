// An objective for searchers whose best is known, on a grid of knobs.
#pragma once

#include <cstdint>
#include <memory>

#include "host/tune/searcher.h"

namespace fettle::tune::doubles {

inline std::unique_ptr<Searcher> searcher(const char* name, const space::SearchSpace& space,
                                          std::uint64_t seed) {
  return make_searcher(name, space, {seed}).value();
}

// A separable objective: every knob has a best option of its own.
inline double separable(const space::Configuration& configuration) {
  double sum = 100;
  for (std::size_t i = 0; i < configuration.choice.size(); ++i) {
    const double off =
        static_cast<double>(configuration.choice[i]) - static_cast<double>(i * 3 % 8);
    sum += off * off;
  }
  return sum;
}

}  // namespace fettle::tune::doubles
