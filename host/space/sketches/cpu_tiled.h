// The CPU sketch of reductions over a constant (conv2d, dense): register tiles of
// rows x vectors, packed weights, parallel tasks of register tiles.
//
//   parallel task (fused: rows, columns, channels of a task)
//     [padded input of the task, per thread]
//     mid loops over register tiles, in one of three orders
//       sums of one register tile: reduction loops, unrolled inside; vectors over
//       output channels, every element of the tile in a register
//       tail: bias, add, relu, store
//
// and beside it a launch that packs the weights when the program is loaded and,
// unless it is done per task, one that pads the input.
#pragma once

#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "host/space/target.h"

namespace fettle::space {

// The DAG holds one reduction over a constant named weight, as conv2d and dense make it.
Sketch cpu_tiled_sketch(const ComputeDag& dag, const Target& target);

Result<Schedule> cpu_tiled_schedule(Schedule begun, const Target& target, const SearchSpace& space,
                                    const Configuration& configuration);

// Register tiles [rows of y, rows of x, vectors, lanes] that fit the target's
// registers and waste little on extents that they do not divide.
std::vector<std::vector<std::int64_t>> register_tiles(std::int64_t y, std::int64_t x,
                                                      std::int64_t channels, const Target& target);

}  // namespace fettle::space
