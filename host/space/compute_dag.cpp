// Look-ups in a compute DAG and its making (compute_dag.h).
#include "host/space/compute_dag.h"

#include <algorithm>

#include "host/space/operators/operator.h"

namespace fettle::space {

const Stage* ComputeDag::find(const std::string& name) const {
  for (const Stage& stage : stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

const Stage* ComputeDag::find(const ir::Buffer& buffer) const {
  for (const Stage& stage : stages) {
    if (stage.buffer == buffer) return &stage;
  }
  return nullptr;
}

ComputeDag make_dag(const Workload& workload) {
  return find_operator(workload.op())->dag(workload);  // parse() made sure that there is one
}

std::int64_t reduction_length(const ComputeDag& dag) {
  std::int64_t longest = 1;
  for (const Stage& stage : dag.stages) {
    std::int64_t length = 1;
    for (const Axis& axis : stage.reduce_axes) length *= axis.extent;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace fettle::space
