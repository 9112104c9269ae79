// The CPU sketch of sums of products in which each element of the second factor serves many
// places of the output (conv2d, conv3d, dense, batch_matmul): register tiles of rows x vectors,
// the second factor packed, parallel tasks of register tiles.
//
//   parallel task (fused: rows, columns, channels of a task)
//     [copy of the first factor that the task reads, per thread: padding]
//     [copy of the second factor that the task reads, per thread]
//     mid loops over register tiles, in one of three orders
//       sums of one register tile: reduction loops, unrolled inside; vectors over
//       output channels, every element of the tile in a register
//       tail: bias, add, relu, store
//
// and beside it a launch that packs a constant when the program is loaded and, unless it is
// done per task, one that pads the first factor. It speaks of roles (axis_roles.h): y and x are
// the innermost two spatial axes, a channel is what the second factor alone has. Where problems
// lie side by side in the output (groups) and have fewer channels than a vector has lanes, a
// second form of the sketch lets vectors span several of them.
#pragma once

#include "host/space/cpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// One sum of products whose last axis is its one channel, read along the second factor's last
// dimension alone; that factor is a constant or an input.
bool cpu_tiled_fits(const ComputeDag& dag);

// Besides: without problems side by side, over an image or rows. Nothing else is worth trying.
bool only_cpu_tiled_fits(const ComputeDag& dag);

// Besides: groups of channels that a vector holds several of, whole.
bool cpu_tiled_groups_fits(const ComputeDag& dag, const CpuTarget& target);

Sketch cpu_tiled_sketch(const ComputeDag& dag, const CpuTarget& target);
Sketch cpu_tiled_groups_sketch(const ComputeDag& dag, const CpuTarget& target);

Result<Schedule> cpu_tiled_schedule(Schedule begun, const CpuTarget& target,
                                    const SearchSpace& space, const Configuration& configuration);
Result<Schedule> cpu_tiled_groups_schedule(Schedule begun, const CpuTarget& target,
                                           const SearchSpace& space,
                                           const Configuration& configuration);

// Register tiles [rows of y, rows of x, vectors, lanes] that fit the target's
// registers and waste little on extents that they do not divide.
std::vector<std::vector<std::int64_t>> register_tiles(std::int64_t y, std::int64_t x,
                                                      std::int64_t channels,
                                                      const CpuTarget& target);

}  // namespace fettle::space
