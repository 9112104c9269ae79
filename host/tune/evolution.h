// What the first plan of a task and the later ones share: numbers of their evolution, and how
// far apart two configurations are, by which plans are spread.
#pragma once

#include <cstddef>
#include <random>

#include "host/space/search_space.h"
#include "host/tune/searcher.h"

namespace fettle::tune {

inline constexpr std::size_t kParents = 16;   // that breed
inline constexpr std::size_t kChildren = 16;  // of each generation
inline constexpr double kCrossover = 0.4;     // share of the children with two parents

// So many draws or children where the task's trials are worth plain thought; fewer where it may
// expect few trials, and more where it may expect many.
std::size_t worth_thought(const SearcherOptions& options, std::size_t count);

// So many candidates of a plan that has that share of plain thought (pace.h); at least one of any.
std::size_t paced(double thought, std::size_t count);

// Knobs that differ, each by at least a half and by how far apart its options are; 1e9 between
// sketches.
double distance(const space::SearchSpace& space, const space::Configuration& a,
                const space::Configuration& b);

inline double uniform(std::mt19937_64& rng) {
  return std::uniform_real_distribution<double>(0, 1)(rng);
}

}  // namespace fettle::tune
