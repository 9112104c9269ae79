// What the recorded conditions say of two measurements of the same program.
#pragma once

#include <string>
#include <vector>

#include "schemas/measure_generated.h"

namespace fettle::bench {

// Reasons, among a measurement's own readings, why `slower` may have come out slower
// than `faster`, which was another session's; empty: the readings know of none.
//   "uncertain"    its 95 % interval reaches down to the other's
//   "disturbed"    more than half of its samples were thrown away
//   "interrupted"  more involuntary context switches, per second of its samples
//   "stolen"       the hypervisor took more of the core's time
//   "throttled"    thermal throttling
//   "clock"        a lower CPU clock, by more than 2 %
//   "load"         a busier machine: a load average higher by more than a half
std::vector<std::string> slowing_conditions(const wire::MeasurementT& slower,
                                            const wire::MeasurementT& faster);

}  // namespace fettle::bench
