// The GPU sketch of products of matrices (gpu_tiled.h) that are small and whose sums are long: each
// sum is cut into parts, which blocks compute side by side into a buffer, and a second launch adds
// them up, with the stages after it.
#pragma once

#include "host/space/algorithms/matrix_product.h"
#include "host/space/gpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// There are several rows and columns, too few of them for the device's threads, and sums that have
// parts. Problems side by side are not cut.
bool gpu_split_fits(const MatrixProduct& product, const GpuTarget& target);

Sketch gpu_split_sketch(const MatrixProduct& product, const GpuTarget& target);

Result<Schedule> gpu_split_schedule(const MatrixProduct& product, const GpuTarget& target,
                                    const SearchSpace& space, const Configuration& configuration);

}  // namespace fettle::space
