// The CPU sketch of windows over images (depthwise, pooling, conv3d), products of two
// inputs, elementwise operators. A constant is packed where each vector of the last axis
// reads a part of its own (depthwise's windows), else read as it lies. Generated from the DAG: a
// tile of the output's three innermost axes is computed at a time, the innermost one by vectors.
//
//   parallel task (fused: the outer axes, tiles of y, x and channels)
//     [padded input of the task, per thread]
//     mid loops over register tiles, in one of three orders
//       reduction of one register tile: reduction loops, unrolled inside
//       the stages after it, inlined; store
//
// A padded copy of an input is made by a launch of its own, per task, or not at all:
// then tiles inside the image read it directly and those at its border by loads
// under a condition (host/lower/split_border.h). A reduction that is stored elsewhere
// than at its axes (conv2d_transpose) is tiled as a launch of its own, and the output
// reads it in a second one; what depends on constants only is computed on loading.
#pragma once

#include "host/space/cpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// At most one reduction, whose axes are the output's or which says where it is stored.
bool cpu_spatial_fits(const ComputeDag& dag);

Sketch cpu_spatial_sketch(const ComputeDag& dag, const CpuTarget& target);

Result<Schedule> cpu_spatial_schedule(Schedule begun, const CpuTarget& target,
                                      const SearchSpace& space, const Configuration& configuration);

// Register tiles [y, x, vectors, lanes]: at most as many elements as registers hold
// beside what is read, little waste on extents that they do not divide.
// element_bits: of what is computed.
std::vector<std::vector<std::int64_t>> spatial_tiles(std::int64_t y, std::int64_t x,
                                                     std::int64_t channels, int element_bits,
                                                     const CpuTarget& target);

}  // namespace fettle::space
