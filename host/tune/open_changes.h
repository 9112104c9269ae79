// OpenChanges: changes of one knob of the fastest trials, of which no trial tells anything.
//
// A model that has met an option in slow programs only takes it for slow, and does not ask again:
// a search stands on a plateau that one knob would end. An option is answered for once a trial had
// it that is but for one more knob like one of the fast ones. Only knobs of few options count:
// those can all be answered for in few trials.
#pragma once

#include <unordered_set>
#include <vector>

#include "host/tune/knowledge.h"

namespace fettle::tune {

class OpenChanges {
 public:
  OpenChanges() = default;  // none
  // Of the fastest trial of each sketch that has fast ones; at most some, those of the knobs with
  // the fewest options. `trials`: of one task, in any order.
  OpenChanges(const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials);

  const std::vector<space::Configuration>& all() const { return changes_; }
  bool contains(const space::Configuration& configuration) const {
    return set_.contains(configuration);
  }

 private:
  std::vector<space::Configuration> changes_;
  std::unordered_set<space::Configuration, ConfigurationHash> set_;
};

}  // namespace fettle::tune
