// What must hold of a compute DAG that came from outside.
#pragma once

#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// Names are there and unique; one output, the last stage; each other stage is read by a later
// one; tensors have at most 2^30 elements; every index is inside its tensor, for all values
// of the axes or where the load's condition holds, and affine, but for those of inputs and
// constants that min and max keep inside; a value is stored at each place once. InvalidArgument
// names the stage and what is wrong. Unsupported: a type or more than one output.
Result<void> check_dag(const ComputeDag& dag);

}  // namespace fettle::space
