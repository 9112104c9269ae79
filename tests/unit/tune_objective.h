// An objective for searchers whose best is known, on a grid of knobs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "host/tune/searcher.h"

namespace fettle::tune::doubles {

// In the place of a program's loops: the choices themselves, last one first.
inline Result<std::vector<float>> choices_reversed(const space::Configuration& configuration) {
  return std::vector<float>(configuration.choice.rbegin(), configuration.choice.rend());
}

inline std::unique_ptr<Searcher> searcher(const char* name, const space::SearchSpace& space,
                                          std::uint64_t seed) {
  SearcherOptions options;
  options.seed = seed;
  options.itervar_features = choices_reversed;
  return make_searcher(name, space, options).value();
}

// As gtest likes it: without hyphens.
inline std::string test_name(std::string searcher) {
  std::replace(searcher.begin(), searcher.end(), '-', '_');
  return searcher;
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

// Its one feature is an estimate that is always right.
inline SearcherOptions knowing_all(std::uint64_t seed) {
  SearcherOptions options;
  options.seed = seed;
  options.feature_count = 1;
  options.estimate = 0;
  options.features = [](const space::Configuration& c) -> Result<std::vector<float>> {
    return std::vector<float>{static_cast<float>(std::log2(separable(c)))};
  };
  return options;
}

}  // namespace fettle::tune::doubles
