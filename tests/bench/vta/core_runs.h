// Programs of many configurations run on the simulator, and on the Verilated core beside it:
// their cycles, their outputs compared with the reference.
#pragma once

#include "host/tune/pipeline.h"
#include "runtime/vta/accelerator.h"
#include "tests/bench/vta/layer.h"

namespace fettle::bench {

struct CoreRun {
  std::size_t layer = 0;
  space::Configuration configuration;
  std::int64_t record = 0;      // 0: of none
  std::uint64_t estimated = 0;  // the simulator's cycles
  std::uint64_t cycles = 0;     // the Verilated core's; 0: not run there
  std::string wrong;            // what went wrong, on which core; "": nothing
};

struct CoreRunOptions {
  const vta::Design& design;
  bool rtl = false;  // on both, else on the simulator alone
  // Threads, each with cores of its own: a Verilated core takes one processor.
  unsigned jobs = 1;
  const tune::StopSignal& stop;  // what is under way is still ended
};

// Fills in the cycles; a failed run is no Error. Tells on standard error how far it is. Layers of
// the runs have a task.
//   Canceled     stopped before all were run; those that were have their cycles
//   Unsupported  this build has no Verilated core
Result<void> run_on_cores(const std::vector<VtaLayer>& layers, Answers& answers,
                          std::vector<CoreRun>& runs, const CoreRunOptions& options);

}  // namespace fettle::bench
