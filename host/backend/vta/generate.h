// The program of a product: instructions in an order that is right when each ends before the next
// begins, without tokens (tokens.h puts those).
#pragma once

#include "host/backend/vta/instruction_writer.h"
#include "host/backend/vta/tiling.h"

namespace fettle::vta::host {

struct Generated {
  Untokened code;  // its first regions are the product's buffers
  // Tiles on the chip at a time: of inputs, of weights, of sums.
  std::size_t input_slots = 0, weight_slots = 0, sum_slots = 0;
};

// Weights with which GEMM adds its inputs as they are.
Bytes diagonal_weights(const Design& design);

// BuildError: instructions cannot say it.
Result<Generated> generate(const Product& product, const Design& design, const Tiling& tiling);

}  // namespace fettle::vta::host
