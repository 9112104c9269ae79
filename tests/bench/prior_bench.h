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
  std::string output;                   // of the trained prior; empty: judges only
  bool json = false;
};

// Trials of float32 tasks on CPUs of one architecture count; those of the networks that
// fettle knows and of the recorded spaces are left out, so that nothing is judged on what
// it was trained on.
Result<void> run_prior_bench(const PriorBenchOptions& options);

}  // namespace fettle::bench
