// One trial: load, check, warm up, calibrate, sample, check again, and once more after a run over
// poisoned outputs.
//
// What was right at first and is not behind the samples fails with WrongAfterTiming: a kernel that
// keeps count of its runs and stops working would else be timed idling. A kernel that looks at its
// output and leaves it alone when it is no poison is not found out so.
#pragma once

#include <cstdint>

#include "agent/device/device.h"
#include "agent/measure/status_page.h"
#include "agent/platform/conditions.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

struct TrialContext {
  Device& device;
  const ConditionsReader& conditions;
  StatusPage& status;
  BlobLookup blobs;
  // Address space in use now, bytes; 0 when no limit is in force, or candidates are no code of
  // this process. Those of ours never map memory, so growth while one runs is its own doing.
  std::function<std::uint64_t()> address_space;
  bool tainted = false;  // out: the process should not serve another trial
};

// Runs the whole protocol and says what came of it; a failing candidate is a
// Failure in the outcome, a crashing one ends the process. The program's outputs
// get the expected dtype as fill pattern, hence not const. times.load_ns also
// holds `decode_ns`. The caller fills in idle_before_ns and total_ns.
wire::OutcomeT run_trial(TrialContext& context, wire::MeasureRequestT& request,
                         std::uint64_t decode_ns);

}  // namespace fettle::agent
