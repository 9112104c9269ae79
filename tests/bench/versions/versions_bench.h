// `fettle-bench versions`: did anything get slower since another commit? Its programs and
// this build's tune the same networks with the same seeds and trials, by turns; then the
// best kernels of both are timed by turns. Told are trials per hour and, layer by layer, the
// ratio of the times.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct VersionsBenchOptions {
  std::string baseline;   // folder with that commit's fettle, fettle-agent and fettle-bench
  std::string candidate;  // the same of what is judged; empty: where this program lies
  std::vector<std::string> networks = {"resnet-18", "mobilenet"};
  unsigned seeds = 2;     // tunes of each network and side
  unsigned trials = 600;  // of each tune
  unsigned turns = 8;     // of each side's kernels, on each database
  unsigned rounds = 5;    // of a turn
  std::string keep;       // databases and logs stay there; finished tunes are not repeated
  bool gate = false;      // an Error where the candidate is slower
  bool json = false;
};

// Takes Ctrl-C for its own: the child at work is ended, and the Error is Canceled.
Result<void> run_versions_bench(const VersionsBenchOptions& options);

}  // namespace fettle::bench
