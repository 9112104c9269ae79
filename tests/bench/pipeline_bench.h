// `fettle-bench pipeline`: does a board wait for the host? A real layer, sized so
// that its kernels run about `kernel_ms`, is tuned through the real loop, build
// workers, broker and agent; every trial is a program of its own. Told are the
// device's busy share, the share of all time inside the kernels that are timed, the share lost
// to builders, and what a trial costs the device besides its kernel.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct PipelineBenchOptions {
  double kernel_ms = 20;
  unsigned trials = 100;
  unsigned builders = 0;  // 0: one per core, as a session has
  unsigned threads = 0;   // of the device; 0: all cores but one
  std::uint64_t seed = 1;
  bool json = false;
  bool gate = false;  // an Error where the device is inside kernels for less than it should be
};

// The least share of all time that a device should be inside timed kernels (their samples,
// warm-up and the run that is checked), where kernels run about `kernel_ms`. 0: not known.
double least_running_share(double kernel_ms);
// "" or why the gate stays shut.
std::string running_share_fault(double kernel_ms, double running_share);

// Prints; an Error when it could not be run, or with `gate` when that stays shut.
Result<void> run_pipeline_bench(const PipelineBenchOptions& options);

}  // namespace fettle::bench
