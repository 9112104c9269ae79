// Timing contenders in turns, so that what the machine does meanwhile meets all: by their device's
// own clock, where they tell it, else by this machine's.
#pragma once

#include <span>
#include <vector>

#include "tests/bench/kernels/contender.h"

namespace fettle::bench {

struct Timing {
  std::vector<double> nanoseconds;  // per run, one entry a round
  unsigned disturbed = 0;           // samples that another process interrupted, taken again
  // The first sample of each round, whatever became of it: of two contenders that had as many
  // turns the minima are of as many samples, however often one was disturbed.
  std::vector<double> firsts;
  double median() const;  // of at least one round
  double least() const;   // of firsts
};

struct AlternateOptions {
  unsigned rounds = 15;
  double sample_ms = 5;  // a sample holds as many runs as take this long
  // Before each sample: threads of the contender before that still spin for more
  // work must have gone to sleep. 0 where everything runs on the caller.
  double pause_ms = 0;
};

// In each round each contender once, in order: pause, two runs that do not count (its
// tensors come back into the caches), then one sample,
// taken again when another process interrupted it. Results in the contenders' order.
Result<std::vector<Timing>> alternate(std::span<Contender* const> contenders,
                                      const AlternateOptions& options);

}  // namespace fettle::bench
