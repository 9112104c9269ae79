// `fettle-bench efficiency`: convolutions tuned by each searcher on this machine's
// device, each layer and searcher in sessions of its own that learn of nothing else.
// Told is what share of the best that any searcher found was reached after 64, 200,
// … trials, and after how many trials 95 % of it. The database is the state: run
// again, it goes on. A program that any of these sessions measured already is not
// measured again, but the searcher that proposes it has spent a trial on it all the same.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct EfficiencyBenchOptions {
  std::string db = "efficiency.db";
  std::string network = "resnet-18";
  unsigned layers = 12;                // the network's first so many convolutions
  std::vector<std::string> searchers;  // empty: all but grid
  unsigned trials = 1000;              // of each layer and searcher
  unsigned seconds = 170;              // stops after so long; 0: never, goes through
  std::uint64_t seed = 1;
  bool prior = true;  // evolutionary starts with the prior that fettle ships
  bool json = false;
};

Result<void> run_efficiency_bench(const EfficiencyBenchOptions& options);

// What a search had after each of its trials: [i] is the least time of the first i + 1,
// 0 before the first one that was measured. An empty time: failed, or stopped early.
std::vector<double> best_so_far(std::span<const std::optional<double>> nanoseconds);
// best / what the search had after `trials`; empty: it has not made so many.
std::optional<double> share_reached(std::span<const double> curve, unsigned trials, double best);
// The first trial after which it had `share` of the best; empty: never so far.
std::optional<unsigned> trials_to(std::span<const double> curve, double share, double best);

}  // namespace fettle::bench
