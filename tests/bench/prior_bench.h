// `fettle-bench prior`: trains the prior that fettle ships (host/cost/prior.h) from the
// records of databases, and judges it on recorded spaces, of which it has seen none.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct PriorBenchOptions {
  std::vector<std::string> databases;
  std::vector<std::string> recordings;  // to judge by
  // A prior of another machine, whose own records are not there; empty: none. The new one learns
  // what it says of the same programs too, and is judged beside it.
  std::string earlier;
  std::string
      samples;  // every trial's time and features, for tests/bench/fit_estimate.py; empty: not
  std::string output;  // of the trained prior; empty: judges only
  // A prior that is judged by the records, and none is trained: how well it knows this machine's
  // programs. Neither `earlier` nor `output` is asked then.
  std::string judge;
  bool json = false;
};

// Trials of float32 tasks on CPUs of one architecture count; those of the networks that
// fettle knows and of the recorded spaces are left out, so that nothing is judged on what
// it was trained on. Told is of each task, and their mean, how well programs are in order by the
// estimate alone and by the prior.
Result<void> run_prior_bench(const PriorBenchOptions& options);

}  // namespace fettle::bench
