// One stage of a compute DAG evaluated slowly and plainly, in double.
#pragma once

#include <map>
#include <stop_token>

#include "host/space/compute_dag.h"
#include "host/space/tensor.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// The values of a stage that is no placeholder, as its buffer holds them, from those of the
// stages it reads. Unsupported: see stage_program.h. Canceled: soon after `stop`.
Result<Tensor> evaluate_stage(const Stage& stage, const std::map<ir::Buffer, Tensor>& tensors,
                              const std::stop_token& stop);

}  // namespace fettle::space
