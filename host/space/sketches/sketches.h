// Sketches: which spaces a workload has on a target, and the schedule of a
// configuration. The table of sketches is in sketches.cpp.
#pragma once

#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "host/space/target.h"
#include "host/space/workload.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// Unsupported: no sketch for this operator on this kind of target.
Result<SearchSpace> make_space(const Workload& workload, const Target& target);

// The configuration must be a point of make_space(workload, target).
Result<Schedule> schedule_for(const Workload& workload, const Target& target,
                              const Configuration& configuration);

// How much larger the rounding errors of this configuration's sketch are than those
// that tolerance_of() allows for, which are those of the plain sum: 1 or more.
// Multiplies the absolute tolerance.
double error_growth(const Workload& workload, const Target& target,
                    const Configuration& configuration);

}  // namespace fettle::space
