// The GPU sketch of few long reductions that share nothing (a vector times a matrix, pooling of
// whole images, sums of a whole tensor):
//
//   blocks: parts of the reduction, tiles of neighbouring results
//     threads along the reduction and along the results: each a part, in a register
//     a warp's worth of threads, then one for each result, what those have left in shared memory
//   [a second launch: over the parts, with the stages after it]
//
// Where the device likes vectors, threads take them along the results if these lie side by side in
// what is read, else along the reduction.
#pragma once

#include <optional>

#include "host/space/compute_dag.h"
#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// A DAG of one such reduction, with its axes as one.
struct LongReduction {
  ComputeDag dag;
  std::string reduction, output;  // stages; the output reads the reduction at its own axes
  std::int64_t length = 0, results = 0;
  bool along_results = false;   // neighbours along the last axis are read side by side
  std::int64_t contiguous = 0;  // so many neighbours along the reduction are
};

// Nothing: the DAG has not one reduction, or a short one, or of more results than leave threads of
// the device idle; or it is a product of matrices of several rows and columns.
std::optional<LongReduction> long_reduction(const ComputeDag& dag, const GpuTarget& target);

Sketch gpu_sums_sketch(const LongReduction& reduction, const GpuTarget& target);

Result<Schedule> gpu_sums_schedule(const LongReduction& reduction, const GpuTarget& target,
                                   const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
