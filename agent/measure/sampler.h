// Taking samples in sequence until the median is known well enough, or clearly
// lies above the racing bound.
//
// A sample is disturbed when, while it ran, a measuring thread was switched out
// against its will, the hypervisor stole time from the cores, the core was
// throttled, or its clock fell or rose by more than 10 %. It is thrown away and taken
// again, up to `retakes` times; after three in a row a calibrated sample is
// halved (not below 0.5 ms), as a short one fits between two disturbances. After a
// sample taken while the kernel held the clock down against heat, the sampler waits
// until it no longer does, at most `most_cool_ms` in one trial.
//
// When retakes run out before min_samples clean ones exist, the fastest disturbed
// samples fill the gap (a disturbance only costs time), provided that they agree:
// half the interval within 25 % of the median; else the error is Disturbed. Throttled
// ones never do: where they are all there is, the error is Disturbed.
//
// Governor, power mode and the accelerator's clock must stay as they were at the first
// sample; else all samples are of no one condition, and the error is Disturbed at once.
// The GPU's clock is recorded, no more: an idle desktop moves it, a CPU's samples do not mind.
//
// Where the clock counts instructions, a sample is one run, without warm-up. It begins
// right behind a tick of the kernel's: ticks are counted too, and so all of a program's
// samples hold equally many. Two samples that agree to 0.05 % end the series; larger ones
// were interrupted and count as disturbed. An exact device (device.h) is asked for one sample of
// one run: nothing disturbs its ticks, and none is better known by a second.
#pragma once

#include <vector>

#include "agent/device/device.h"
#include "agent/measure/status_page.h"
#include "agent/platform/conditions.h"
#include "schemas/measure_generated.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

struct SamplerInput {
  Device& device;
  const ConditionsReader& conditions;
  StatusPage& status;
  const wire::MeasureOptionsT& options;
  double first_run_ticks = 0;  // of the check run, cold; 0: none was made
  std::uint64_t* warmup_ns;    // adds up
  std::uint64_t* run_ns;
  int most_cool_ms = 30'000;  // of waiting for a throttled core, in all
};

// Everything of a Measurement but the conditions.
Result<wire::MeasurementT> take_samples(const SamplerInput& input);

}  // namespace fettle::agent
