// The GPU sketch of operators whose reductions run along the rows of a matrix and are read by
// every element of the row: softmax, layer norm, sums of rows. A block computes a row:
//
//   each reduction: every thread a part, in a register; then a warp's worth of threads what those
//   have left in shared memory; then one thread the rest (RfactorStep twice)
//   the output's row, by all threads
#pragma once

#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// Reductions of [n] along rows, and no others; the output is [n] or [n][k].
bool gpu_rows_fits(const ComputeDag& dag, const GpuTarget& target);

// Elements of the longest sum, of DAGs that fit.
std::int64_t longest_row(const ComputeDag& dag);

Sketch gpu_rows_sketch(const ComputeDag& dag, const GpuTarget& target);

Result<Schedule> gpu_rows_schedule(const ComputeDag& dag, const GpuTarget& target,
                                   const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
