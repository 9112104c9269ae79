// How many operations a compute DAG states, however it is scheduled.
#pragma once

#include "host/space/compute_dag.h"

namespace fettle::space {

// Of all stages that are no copies: arithmetic on values, not on indices and conditions, each
// part that an expression shares once; a reduction's combining is one more. A multiply-add is two.
double nominal_operations(const ComputeDag& dag);

}  // namespace fettle::space
