// IEEE 754-2008 binary16, which ScalarType Float16 names: from and to wider types,
// by arithmetic alone, so that a board without conversion instructions reads it too.
//
// Layout: sign (bit 15), exponent with bias 15 (bits 14-10; 0: subnormal, in units of
// 2^-24; 31: infinity or NaN), fraction (bits 9-0).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fettle {

// Exact; the fraction of a NaN is kept. Without branches: loops over it become vectors.
inline float float_of_half(std::uint16_t half) {
  const std::uint32_t magnitude = std::uint32_t{half & 0x7fffu} << 13;
  // With the exponent taken for one of bias 127 the value is 2^-112 of what it should be,
  // subnormal ones included.
  const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = (half & 0x7c00u) == 0x7c00u ? 0xffffffffu : 0u;
  const std::uint32_t bits =
      (std::bit_cast<std::uint32_t>(finite) & ~special) | ((magnitude | 0x7f800000u) & special);
  return std::bit_cast<float>(bits | std::uint32_t{half & 0x8000u} << 16);
}

// Rounded once, to the nearest, ties to even; from 65520 on it is infinity.
inline std::uint16_t half_of(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 0x1p-14) return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24));
  int exponent = 0;
  std::frexp(size, &exponent);  // size = f * 2^exponent, f in [0.5, 1)
  // From 1024 to 2048; the last one carries into the exponent, as it should.
  const auto digits = static_cast<std::uint16_t>(std::nearbyint(std::ldexp(size, 11 - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent + 13) << 10) + digits));
}

}  // namespace fettle
