// How sketches of products of matrices (MatrixProduct) stage the matrices in memory that a block
// shares: knobs, what they cost, steps.
#pragma once

#include <string>

#include "host/space/algorithms/matrix_product.h"
#include "host/space/gpu_target.h"
#include "host/space/search_space.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

// Of a product: bytes of an element of each matrix, and elements along the sum.
struct Matrices {
  int first_bytes, second_bytes;
  std::int64_t k;
};
Matrices matrices_of(const MatrixProduct& product);

// The knob "stages": [places for what a step of the sum reads, by copies beside the threads].
// Records from before it have one place.
Knob stages_knob(const Matrices& matrices, const GpuTarget& target);

// Of each matrix that is staged, so many elements are copied by each thread.
struct Copied {
  std::int64_t steps = 1;              // of the sum, at a time
  std::int64_t first = 0, second = 0;  // rows and columns of a block; 0: that matrix is not staged
  std::int64_t threads = 1;
};

// Bytes of shared memory that the matrices take, in so many places.
std::int64_t shared_bytes(const Matrices& matrices, const Copied& copied, std::int64_t stages);

// There are as many steps as stages, and what threads copy themselves, ahead, fits into
// `registers` of each.
bool stages_fit(const Matrices& matrices, const Copied& copied, const KnobValue& stages,
                std::int64_t registers);

// The stage, one of the product's matrices or a copy of one, is computed at the loop of `consumer`
// by x * y threads together. by_steps: neighbours among them take steps of the sum, else rows or
// columns.
void stage_together(Steps& steps, const std::string& stage, const std::string& consumer,
                    const std::string& loop, bool by_steps, std::int64_t x, std::int64_t y);

}  // namespace fettle::space
