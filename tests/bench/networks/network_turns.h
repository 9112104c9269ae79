// Timing contenders of a network in turns, so that what the machine does meanwhile meets all.
#pragma once

#include <memory>
#include <vector>

#include "tests/bench/networks/network_contender.h"
#include "tests/bench/networks/network_figures.h"

namespace fettle::bench {

struct TurnOptions {
  // Every contender is started so often: where its memory comes to lie moves its times, too.
  unsigned starts = 3;
  unsigned rounds = 10;         // of each start; in each, each contender has a turn
  double slice_ms = 150;        // a turn holds as many runs as take this long, at least one
  double bound = kOutputBound;  // of differences between outputs
};

struct Entrant {
  std::vector<std::string> argv;  // speaks the protocol
  ContenderFigures* figures;      // name is there, the rest is filled here
};

// Starts them, compares their outputs, and takes turns among those that are right. A turn: woken,
// warmed up, timed, stopped. One that something interrupted is taken again. A contender that fails
// is absent from then on, and what was measured of it is dropped.
void take_turns(std::vector<Entrant>& entrants, const std::vector<float>& expected,
                const std::vector<int>& cores, const TurnOptions& options);

}  // namespace fettle::bench
