// The CPU sketch of long reductions to few elements (dense with one row and few outputs,
// sums of everything, global pooling of few channels), which leave vector lanes, pipes or
// threads without work: the reduction axis is cut into parts (RfactorStep).
//
//   launch 1: parallel task (fused: parts of the axis for tasks, outer axes, tiles)
//     parts of the axis for chains of additions, and vector lanes where the output's last
//     axis has too few elements: partial results of a task in registers
//   launch 2: per element (or vector) of the output: partial results combined, the tail
//
// A constant is read along the lanes: copied in that order once, on loading.
#pragma once

#include "host/space/cpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// One reduction with fewer elements than eight vectors for each thread have, and at least 1,024
// operations. Partial results of a row (row_lanes.h) count as elements.
bool cpu_rfactor_fits(const ComputeDag& dag, const CpuTarget& target);

Sketch cpu_rfactor_sketch(const ComputeDag& dag, const CpuTarget& target);

Result<Schedule> cpu_rfactor_schedule(Schedule begun, const CpuTarget& target,
                                      const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
