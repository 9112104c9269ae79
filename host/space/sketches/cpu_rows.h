// The CPU sketch of operators whose reductions run along the rows of a matrix and are
// read by every element of the row: softmax, layer norm, sums of rows.
//
//   parallel task (rows of a task)
//     row
//       reductions of the row: partial results side by side in one or more vectors, then
//       over those (RfactorStep)
//       [intermediate values of the row, kept per thread instead of computed twice]
//       the output's row, by vectors
#pragma once

#include "host/space/cpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// Reductions of [n] along rows (row_lanes.h), and no others; the output is [n] or [n][k].
bool cpu_rows_fits(const ComputeDag& dag);

Sketch cpu_rows_sketch(const ComputeDag& dag, const CpuTarget& target);

Result<Schedule> cpu_rows_schedule(Schedule begun, const CpuTarget& target,
                                   const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
