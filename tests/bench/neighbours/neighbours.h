// What many looks at a core's gauge say of its neighbours (core_gauge.h).
#pragma once

#include <cstddef>
#include <span>

namespace fettle::bench {

struct Look {
  double seconds = 0;  // since the first one
  double gauge = 0;
};

struct Neighbours {
  std::size_t looks = 0;
  double alone_gauge = 0;  // the core's own figure: the tenth least, as an interrupt may spoil one
  double crowded_share = 0;  // of the looks: 1.2 times that and more
  double slowdown = 1;  // the middle one of those beside the core's own figure; 1: there are none
  double longest_crowded_s = 0, longest_alone_s = 0;  // looks in a row
};

// Where a neighbour is at work in every look, none is seen.
Neighbours neighbours_of(std::span<const Look> looks);

}  // namespace fettle::bench
