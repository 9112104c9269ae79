// The CPU's sketches: which spaces a compute DAG has on a CPU. The table is in sketches.cpp.
#pragma once

#include "host/space/cpu_target.h"
#include "host/space/task_space.h"

namespace fettle::space {

// The space of a task on a CPU, and which CPU that is: what its programs are lowered for.
class CpuSpace : public TaskSpace {
 public:
  CpuSpace(TaskSpace space, CpuTarget target)
      : TaskSpace(std::move(space)), target_(std::move(target)) {}
  const CpuTarget& target() const { return target_; }

 private:
  CpuTarget target_;
};

// A sketch of a program's own. Pure: called from many threads.
struct OwnCpuSketch {
  std::function<bool(const ComputeDag& dag, const CpuTarget& target)> applies;
  std::function<Result<Sketch>(const ComputeDag& dag, const CpuTarget& target)> sketch;
  std::function<Result<Schedule>(Schedule begun, const CpuTarget& target, const SearchSpace& space,
                                 const Configuration& configuration)>
      schedule;
};
// Offered besides the others for DAGs as they are stated; before any space is opened.
void add_cpu_sketch(OwnCpuSketch sketch);

// Unsupported: no sketch for this DAG on this CPU. InvalidArgument: a sketch of a program's own
// that applies to it has no name, one that another has, or knobs that cannot be searched.
Result<CpuSpace> open_cpu_space(ComputeDag dag, const CpuTarget& target);

}  // namespace fettle::space
