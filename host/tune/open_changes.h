// OpenChanges: changes of one knob of the fastest trials, of which no trial tells anything.
//
// A model that has met an option in slow programs only takes it for slow, and does not ask again:
// a search stands on a plateau that one knob would end. An option is answered for once a trial had
// it that is but for one more knob like one of the fast ones. Of knobs with few options all can be
// answered for in few trials; of one with many, such as a register tile, each plan sees some
// others, and the model says which of them first.
#pragma once

#include <functional>
#include <random>
#include <unordered_set>
#include <vector>

#include "host/tune/knowledge.h"

namespace fettle::tune {

class OpenChanges {
 public:
  OpenChanges() = default;  // none
  // Of the fastest trial of each sketch that has fast ones; at most some: those of the knobs with
  // the fewest options, and a draw of each other knob's. `trials`: of one task, in any order.
  // `tells_nothing`: of a change that makes no program, or one that was tried: such a change is
  // left out, and another one takes its place. `thought`: share of as many as else (pace.h).
  OpenChanges(const space::SearchSpace& space, const std::vector<Knowledge::Trial>& trials,
              const std::function<bool(const space::Configuration&)>& tells_nothing,
              std::mt19937_64& rng, double thought = 1);

  const std::vector<space::Configuration>& all() const { return changes_; }
  bool contains(const space::Configuration& configuration) const {
    return set_.contains(configuration);
  }

 private:
  std::vector<space::Configuration> changes_;
  std::unordered_set<space::Configuration, ConfigurationHash> set_;
};

}  // namespace fettle::tune
