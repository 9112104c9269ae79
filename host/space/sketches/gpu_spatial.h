// The GPU sketch of everything that needs no sharing between threads: elementwise operators,
// windows (pooling, depthwise), copies, and reductions that each thread does alone. Each launch
// is a grid of threads over the output's elements, a few neighbours for each thread; a reduction
// that is read by another shape than its own (a row's sum) is a launch before it.
#pragma once

#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// Any DAG: what it computes is a launch or part of one.
Sketch gpu_spatial_sketch(const ComputeDag& dag, const GpuTarget& target);

Result<Schedule> gpu_spatial_schedule(const ComputeDag& dag, const GpuTarget& target,
                                      const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
