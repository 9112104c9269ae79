// Channels last: a sum over channels that do not lie last in the data (NCHW), computed as if
// they did.
#pragma once

#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// The DAG's one reduction, a sum of products of data and a constant, runs over [its other
// axes…][out], where `out` is its one axis that the constant has, summing over [its other
// reduction axes…][channels]. The data is read through a copy of that order: what the stage
// that makes it (padding) stores, or a new one, "<data>.channels_last". In place of the
// constant, and once, on loading:
//   <constant>.channels_last [the other reduction axes…][channels][out]
// The elementwise stages that read the sum run over its axes in the new order too. The output
// is stored where it was. InvalidArgument: the DAG is not of that form, so for groups, or has
// its channels last already.
Result<ComputeDag> with_channels_last(ComputeDag dag);

}  // namespace fettle::space
