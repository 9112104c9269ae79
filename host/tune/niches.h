// Niches: parts of a space whose configurations share one option, or one number of an option, such
// as the height of a tile. What an option is worth shows only where the other knobs suit it: a
// search keeps the best it knows of every niche, its champion, and breeds from these too.
#pragma once

#include <cstddef>
#include <vector>

#include "host/space/search_space.h"

namespace fettle::tune {

class Niches {
 public:
  // Options of knobs, or places of their numbers, that differ in more than a dozen values are none.
  explicit Niches(const space::SearchSpace& space);
  std::size_t count() const { return count_; }
  // From 0 to count() - 1, all different.
  std::vector<std::size_t> of(const space::Configuration& configuration) const;

 private:
  // [sketch][knob][option]
  std::vector<std::vector<std::vector<std::vector<std::size_t>>>> niches_;
  std::size_t count_ = 0;
};

// Of configurations in their order, best first: places of those that are the first of some niche.
std::vector<std::size_t> champions(const Niches& niches,
                                   const std::vector<const space::Configuration*>& ranked);

}  // namespace fettle::tune
