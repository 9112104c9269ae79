// The GPU sketch of sums of products in which each element of the second factor serves several
// places (conv2d, conv3d, their transposed forms, dense, batch_matmul), as products of matrices
// (host/space/algorithms/matrix_product.h):
//
//   blocks: problems side by side, tiles of columns, tiles of rows
//     threads along rows and columns, a tile of the result in registers of each
//       steps of the sum
//         [both matrices' parts into memory that the block shares, by all its threads, in one
//          place or several that take turns]
//         the tile's products, unrolled
//       the stages after it; store
//
// A thread takes its columns by vectors where the device likes some. Matrices are staged in shared
// memory only where that is a memory of its own; the second, where it is constant, may be laid out
// anew when the program is loaded, and what the first is read from may be computed beforehand.
//
// Where the product is one of an instruction's (MatrixProduct::row), so is the sketch, and named
// so.
//
// The last tile of rows or columns begins early and overlaps the one before, so that no thread
// is without work and none waits at a barrier alone.
#pragma once

#include "host/space/algorithms/matrix_product.h"
#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

// Its grid reaches.
bool gpu_tiled_fits(const MatrixProduct& product, const GpuTarget& target);

Sketch gpu_tiled_sketch(const MatrixProduct& product, const GpuTarget& target);

Result<Schedule> gpu_tiled_schedule(const MatrixProduct& product, const GpuTarget& target,
                                    const SearchSpace& space, const Configuration& configuration);

// The product's DAG with the second matrix stored as the knobs say.
ComputeDag stored_as_packed(const MatrixProduct& product, const SearchSpace& space,
                            const Configuration& configuration);

// A schedule with all that is elementwise part of what reads it, but for what the knobs keep.
Steps begin_product(const MatrixProduct& product, const SearchSpace& space,
                    const Configuration& configuration);

// The part of it that is the product's: the matrices, their sums and what takes them. Which
// stages the knobs have placed; those that they leave are launches of the caller's.
std::vector<std::string> place_product(Steps& steps, const MatrixProduct& product,
                                       const SearchSpace& space,
                                       const Configuration& configuration);

}  // namespace fettle::space
