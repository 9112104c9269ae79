// How the time of a program divides among its launches.
#pragma once

#include "agent/measure/sampler.h"

namespace fettle::agent {

// Ticks of each Run launch per run: the median of a few samples of `number` runs, apart from
// those of take_samples, as looking at the clock between launches costs a little. Empty where
// the device cannot tell, or where no time is left for it. `run_ns`: what a run takes, so far as
// is known; 0 where the device's clock does not tell.
Result<std::vector<double>> measure_launches(const SamplerInput& input, std::uint32_t number,
                                             double run_ns);

}  // namespace fettle::agent
