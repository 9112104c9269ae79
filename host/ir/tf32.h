// TF32: float32 with 10 bits of fraction, which tensor cores multiply.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fettle::ir {

// The nearest value with 10 bits of fraction, of two equally near ones the larger in magnitude:
// PTX's cvt.rna.tf32.f32. Infinities and NaN stay what they are.
inline float rounded_to_tf32(float value) {
  constexpr std::uint32_t kDropped = (1u << 13) - 1;  // of 23 bits of fraction
  if (!std::isfinite(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + kDropped / 2 + 1) & ~kDropped);
}

}  // namespace fettle::ir
