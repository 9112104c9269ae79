// The GPU sketch of products of matrices whose instruction takes all threads of a warp (tensor
// cores; rows of ir::intrinsics() of several threads):
//
//   blocks: problems side by side, tiles of columns, tiles of rows
//     warps along rows and columns
//       steps of the sum
//         both matrices' parts into memory that the block shares, by all its threads
//         for each few steps: tiles of both into fragments; their products, unrolled
//       the sums into memory that the block shares
//     the stages after it, by all threads of the block; store
//
// Few tiles with long sums may be cut along these (gpu_parts.h): more blocks, and a second launch.
//
// Sums are as exact as those of the instruction: it is taken where it computes what the workload
// says, or what the workload allows in its place (ComputeDag::allow_tf32). The last tile of rows or
// columns overlaps the one before.
#pragma once

#include <optional>

#include "host/space/algorithms/matrix_product.h"
#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// A product, and the instructions that compute it.
struct WarpProduct {
  MatrixProduct product;
  const ir::IntrinsicRow *multiply, *zero;
  const ir::IntrinsicRow *load_first, *load_second, *store;  // memory of a block <-> fragments
  double error_growth = 1;                                   // of TaskSpace::Entry
};

// Nothing: the device has no instruction for it, or the product is smaller than one of them.
std::optional<WarpProduct> warp_product(const ComputeDag& dag, const GpuTarget& target);

// No configuration fits the device: nothing.
std::optional<Sketch> gpu_warps_sketch(const WarpProduct& warp, const GpuTarget& target);

Result<Schedule> gpu_warps_schedule(const WarpProduct& warp, const GpuTarget& target,
                                    const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
