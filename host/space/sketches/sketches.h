// The CPU's sketches: which spaces a compute DAG has on a CPU. The table is in sketches.cpp.
#pragma once

#include "host/space/task_space.h"

namespace fettle::space {

// Unsupported: no sketch for this DAG on this CPU.
Result<TaskSpace> open_cpu_space(ComputeDag dag, const Target& target);

}  // namespace fettle::space
