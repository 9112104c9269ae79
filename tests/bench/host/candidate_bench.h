// `fettle-bench candidates`: what a candidate costs the host, whatever the device: its features
// and its build, in one process, by the CPU time of its thread, for any target of the CPU back end.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct CandidateBenchOptions {
  std::string network = "resnet-18";  // or a .json file of workloads
  std::string arch = "x86_64";  // this machine's CPU, or of the generic profiles: aarch64, armv7
  unsigned candidates = 10;     // random ones of each task that can be built
  unsigned lowered = 10;        // for their features, per built one
  std::uint64_t seed = 1;
  std::string database;  // a session's candidates of these tasks instead of random ones
  bool json = false;
};

// Prints a line per task and a summary: medians and means over all candidates.
Result<void> run_candidate_bench(const CandidateBenchOptions& options);

}  // namespace fettle::bench
