// Products of a micro-op (matrix_product.h): by vector instructions of x86-64, or plainly.
#include "fpga/sim/matrix_product.h"

#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace fettle::vta {
namespace {

void plainly(const BlockShape& shape, const std::int16_t* inputs, const std::int16_t* weights,
             std::int32_t* accumulators) {
  for (std::uint32_t b = 0; b < shape.batch; ++b) {
    const std::int16_t* row = inputs + b * shape.row();
    std::int32_t* sums = accumulators + b * shape.block_out;
    for (std::uint32_t pair = 0; pair < shape.pairs(); ++pair) {
      const std::int32_t even = row[2 * pair], odd = row[2 * pair + 1];
      const std::int16_t* of_pair = weights + pair * shape.block_out * 2;
      for (std::uint32_t oc = 0; oc < shape.block_out; ++oc) {
        // Unsigned: sums wrap around.
        sums[oc] = static_cast<std::int32_t>(
            static_cast<std::uint32_t>(sums[oc]) +
            static_cast<std::uint32_t>(even * of_pair[2 * oc] + odd * of_pair[2 * oc + 1]));
      }
    }
  }
}

#ifdef __SSE2__
// `Quads` x 4 output channels stay in registers.
template <std::uint32_t Quads>
void by_quads(const BlockShape& shape, const std::int16_t* inputs, const std::int16_t* weights,
              std::int32_t* accumulators) {
  for (std::uint32_t b = 0; b < shape.batch; ++b) {
    const std::int16_t* row = inputs + b * shape.row();
    __m128i* to = reinterpret_cast<__m128i*>(accumulators + b * shape.block_out);
    __m128i sums[Quads];
    for (std::uint32_t i = 0; i < Quads; ++i) sums[i] = _mm_loadu_si128(to + i);
    const __m128i* of_pair = reinterpret_cast<const __m128i*>(weights);
    for (std::uint32_t pair = 0; pair < shape.pairs(); ++pair, of_pair += Quads) {
      std::int32_t both;
      std::memcpy(&both, row + 2 * pair, sizeof both);
      const __m128i factors = _mm_set1_epi32(both);
      for (std::uint32_t i = 0; i < Quads; ++i) {
        sums[i] = _mm_add_epi32(sums[i], _mm_madd_epi16(factors, _mm_loadu_si128(of_pair + i)));
      }
    }
    for (std::uint32_t i = 0; i < Quads; ++i) _mm_storeu_si128(to + i, sums[i]);
  }
}
#endif

}  // namespace

void multiply_accumulate(const BlockShape& shape, const std::int16_t* inputs,
                         const std::int16_t* weights, std::int32_t* accumulators) {
#ifdef __SSE2__
  switch (shape.block_out) {
    case 8:
      return by_quads<2>(shape, inputs, weights, accumulators);
    case 16:
      return by_quads<4>(shape, inputs, weights, accumulators);
    default:
      break;
  }
#endif
  plainly(shape, inputs, weights, accumulators);
}

}  // namespace fettle::vta
