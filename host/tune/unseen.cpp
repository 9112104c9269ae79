// Unseen (unseen.h).
#include "host/tune/unseen.h"

#include <algorithm>

namespace fettle::tune {

std::size_t ConfigurationHash::operator()(const space::Configuration& configuration) const {
  std::uint64_t hash = configuration.sketch + 0x9e3779b97f4a7c15ull;
  for (std::uint32_t choice : configuration.choice) {
    hash = (hash ^ choice) * 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  }
  return hash;
}

bool Unseen::insert(const space::Configuration& configuration) {
  return seen_.insert(configuration).second;
}

bool Unseen::contains(const space::Configuration& configuration) const {
  return seen_.contains(configuration);
}

std::optional<space::Configuration> Unseen::draw(std::mt19937_64& rng) {
  constexpr int kTries = 64;
  for (int i = 0; i < kTries && !exhausted(); ++i) {
    space::Configuration configuration = space_.random(rng);
    if (insert(configuration)) return configuration;
  }
  if (exhausted()) return std::nullopt;
  // Nearly everything was seen: walk the space from a random place. Constraints may leave few
  // points of a space that is far too large to walk, so both ways end.
  constexpr double kWalkable = 9007199254740992.0;  // 2^53
  constexpr std::uint64_t kMostSteps = 1'000'000;
  if (space_.size() >= kWalkable) {
    for (std::uint64_t step = 0; step < kMostSteps; ++step) {
      space::Configuration configuration = space_.random(rng);
      if (insert(configuration)) return configuration;
    }
  } else {
    const auto size = static_cast<std::uint64_t>(space_.size());
    const std::uint64_t start = std::uniform_int_distribution<std::uint64_t>(0, size - 1)(rng);
    for (std::uint64_t step = 0; step < std::min(size, kMostSteps); ++step) {
      space::Configuration configuration = space_.at((start + step) % size);
      if (space_.contains(configuration) && insert(configuration)) return configuration;
    }
  }
  exhausted_ = true;
  return std::nullopt;
}

}  // namespace fettle::tune
