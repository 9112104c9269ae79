// `fettle-bench efficiency`: convolutions tuned by each searcher on this machine's
// device, each layer, searcher and seed in sessions of its own that learn of nothing else.
// Told is after how many trials each had 95 % of the best that is known of a layer: that of all
// these sessions (efficiency_report.h), measured again once they all are there (confirmed_best.h).
// The database is the state: run again, it goes on. A program that any of these sessions measured
// already is not measured again, but the searcher that proposes it has spent a trial on it all the
// same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

// Searchers, and "evolutionary-no-prior": without the prior that fettle ships.
std::vector<std::string> efficiency_searchers();

struct EfficiencyBenchOptions {
  std::string db = "efficiency.db";
  std::string network = "resnet-18";
  unsigned layers = 12;                       // the network's first so many convolutions
  std::vector<std::string> searchers;         // empty: all but grid
  unsigned trials = 200;                      // of each layer, searcher and seed
  std::map<std::string, unsigned> trials_of;  // of these searchers instead
  unsigned seconds = 170;                     // stops after so long; 0: never, goes through
  std::uint64_t first_seed = 1;
  unsigned seeds = 1;
  bool json = false;
};

Result<void> run_efficiency_bench(const EfficiencyBenchOptions& options);

}  // namespace fettle::bench
