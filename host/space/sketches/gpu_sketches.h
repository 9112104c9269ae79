// A GPU's sketches: which spaces a compute DAG has on a GPU.
#pragma once

#include "host/space/gpu_target.h"
#include "host/space/task_space.h"

namespace fettle::space {

// The space of a task on a GPU, and which GPU that is.
class GpuSpace : public TaskSpace {
 public:
  GpuSpace(TaskSpace space, GpuTarget target)
      : TaskSpace(std::move(space)), target_(std::move(target)) {}
  const GpuTarget& target() const { return target_; }

 private:
  GpuTarget target_;
};

// Unsupported: no sketch for this DAG on this GPU.
Result<GpuSpace> open_gpu_space(ComputeDag dag, const GpuTarget& target);

}  // namespace fettle::space
