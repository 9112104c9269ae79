// Crowding: how much has been tried around a configuration. A model tells of what is close to many
// trials the same as of them: without this a search spends its trials on knobs that change nothing.
// The longer it stands, the farther away it is sent.
#pragma once

#include <vector>

#include "host/tune/knowledge.h"

namespace fettle::tune {

class Crowding {
 public:
  Crowding() = default;  // of no trials
  // Both outlive this object.
  Crowding(const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials);
  // What a configuration loses, in logarithms of time (base e).
  double of(const space::Configuration& configuration) const;

 private:
  const space::SearchSpace* space_ = nullptr;
  const std::vector<Knowledge::Trial>* trials_ = nullptr;
  double weight_ = 0;
};

}  // namespace fettle::tune
