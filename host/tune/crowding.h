// Crowding: how much has been tried around a configuration. A model tells of what is close to many
// trials the same as of them: without this a search spends its trials on knobs that change nothing.
// The longer it stands, the farther away it is sent.
#pragma once

#include <vector>

#include "host/tune/knowledge.h"

namespace fettle::tune {

// Trials without a better one: a search stands then.
inline constexpr std::size_t kStandsAfter = 24;

class Crowding {
 public:
  Crowding() = default;  // of no trials
  // Both outlive this object.
  Crowding(const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials);
  // What a configuration loses, in logarithms of time (base e).
  double of(const space::Configuration& configuration) const;
  // Trials since the last one that was better than all before it.
  std::size_t standing() const { return standing_; }

 private:
  const space::SearchSpace* space_ = nullptr;
  const std::vector<Knowledge::Trial>* trials_ = nullptr;
  std::size_t standing_ = 0;
  double weight_ = 0;
};

}  // namespace fettle::tune
