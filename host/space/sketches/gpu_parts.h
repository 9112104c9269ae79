// Long sums of a product of matrices cut into parts: problems side by side, whose results a second
// launch adds up, with the stages after the product.
#pragma once

#include <string>
#include <vector>

#include "host/space/algorithms/matrix_product.h"
#include "host/space/gpu_target.h"
#include "host/space/search_space.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

// Numbers of equally long parts, from 2 on; none where sums are short.
Options parts_of(const MatrixProduct& product);

// The product of the parts, whose sums are stored where they are computed. `steps` begin with
// those of `product`, which is not batched.
MatrixProduct cut_sums(Steps& steps, const MatrixProduct& product, std::int64_t parts);

// The launch that adds the parts up; the stages that it places are appended to `placed`.
void add_parts(Steps& steps, const MatrixProduct& product, const GpuTarget& target,
               std::vector<std::string>& placed);

}  // namespace fettle::space
