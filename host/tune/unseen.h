// Unseen: which configurations of a space were proposed or observed already, and
// draws of ones that were not. Every searcher is built on it, so that none
// proposes a configuration twice or spins on an exhausted space.
#pragma once

#include <optional>
#include <random>
#include <unordered_set>

#include "host/space/search_space.h"

namespace fettle::tune {

struct ConfigurationHash {
  std::size_t operator()(const space::Configuration& configuration) const;
};

class Unseen {
 public:
  // The space must outlive this object.
  explicit Unseen(const space::SearchSpace& space) : space_(space) {}

  // False when it was seen before.
  bool insert(const space::Configuration& configuration);
  bool contains(const space::Configuration& configuration) const;
  // Every configuration was seen, or draw() has found no other within a million steps, as where
  // constraints leave few of a large space.
  bool exhausted() const {
    return exhausted_ || static_cast<double>(seen_.size()) >= space_.size();
  }

  // A configuration never seen, marked as seen; nothing when the space is exhausted.
  std::optional<space::Configuration> draw(std::mt19937_64& rng);

 private:
  const space::SearchSpace& space_;
  std::unordered_set<space::Configuration, ConfigurationHash> seen_;
  bool exhausted_ = false;
};

}  // namespace fettle::tune
