// The GPU sketch of convolutions by Winograd's algorithm (winograd_convolution.h):
//
//   [a launch that pads the input, or stores it with its channels last]
//   a launch that transforms the pixels: a thread takes a tile's, few channels of them
//   one product of matrices for each of u * v, side by side (gpu_tiled.h)
//   a launch that goes back to m x m pixels of a tile, with the stages after it
//
// and one that transforms the weights when the program is loaded.
#pragma once

#include <optional>

#include "host/space/algorithms/alternatives.h"
#include "host/space/algorithms/matrix_product.h"
#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// A convolution by that algorithm, its products one product of matrices.
struct WinogradProduct {
  MatrixProduct product;
  WinogradStages stages;
};

// Of an alternative of that algorithm whose last tiles are cut; `multiple` as with_matrix_product()
// takes it. Nothing: its grid does not reach, or its scratch is more than the device's memory or
// int32 indexes.
std::optional<WinogradProduct> winograd_product(const Alternative& alternative,
                                                const GpuTarget& target, std::int64_t multiple);

Sketch gpu_winograd_sketch(const WinogradProduct& winograd, const GpuTarget& target);

Result<Schedule> gpu_winograd_schedule(const WinogradProduct& winograd, const GpuTarget& target,
                                       const SearchSpace& space,
                                       const Configuration& configuration);

}  // namespace fettle::space
