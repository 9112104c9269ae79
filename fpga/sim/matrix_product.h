// The simulated core's one hot loop: accumulators += inputs x weights.
#pragma once

#include <cstdint>

namespace fettle::vta {

// Inputs and weights are int8 values kept as int16, since processors multiply pairs of those.
// Weights lie by pairs of input channels, so that a pair meets the same accumulators:
//   weights[(ic / 2 * block_out + oc) * 2 + ic % 2]
struct BlockShape {
  std::uint32_t batch, block_in, block_out;
  // Inputs of one batch row, and pairs of them; an odd block_in (1) has a zero behind it.
  std::uint32_t row() const { return (block_in + 1) / 2 * 2; }
  std::uint32_t pairs() const { return (block_in + 1) / 2; }
};

// accumulators[b][oc] += sum over ic of inputs[b][ic] * weights[oc][ic], wrapping.
void multiply_accumulate(const BlockShape& shape, const std::int16_t* inputs,
                         const std::int16_t* weights, std::int32_t* accumulators);

}  // namespace fettle::vta
