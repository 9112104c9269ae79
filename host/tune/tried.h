// Tried: which sketches and options of each knob a task's trials have had, and which programs, told
// apart by their features.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "host/space/search_space.h"

namespace fettle::tune {

class Tried {
 public:
  Tried() = default;                                // of no space: to be replaced
  explicit Tried(const space::SearchSpace& space);  // nothing yet

  // `features_hash`: of features_hash(); 0: its features are not known.
  void add(const space::Configuration& configuration, std::size_t features_hash);
  // What its options would tell is known: it looks like one of them.
  void add_twin(const space::Configuration& configuration);
  // Most likely the same program as one of them.
  bool looks_tried(std::size_t features_hash) const {
    return features_hash != 0 && programs_.contains(features_hash);
  }
  // One of its knobs is at an option that none of them had.
  bool holds_untried(const space::Configuration& configuration) const;
  // Its sketch has had hardly any trials: of how good its programs are, next to nothing is known.
  bool of_rare_sketch(const space::Configuration& configuration) const;
  // Knob and option, of that sketch.
  std::vector<std::pair<std::size_t, std::uint32_t>> untried(std::size_t sketch) const;

 private:
  std::unordered_set<std::size_t> programs_;             // hashes of their features
  std::vector<std::vector<std::vector<bool>>> options_;  // [sketch][knob][option]
  std::vector<std::size_t> trials_;                      // of each sketch
};

}  // namespace fettle::tune
