// binary16 against the compiler's own, and at its edges.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "schemas/half/half.h"

namespace fettle {
namespace {

TEST(Half, EveryOneSurvivesTheWayThereAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = float_of_half(half);
    if (std::isnan(value)) {
      EXPECT_TRUE((half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0) << bits;
      EXPECT_TRUE(std::isnan(float_of_half(half_of(value)))) << bits;
    } else {
      EXPECT_EQ(half_of(value), half) << bits;
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(half_of(1.0), 0x3c00);
  EXPECT_EQ(half_of(-2.0), 0xc000);
  EXPECT_EQ(half_of(65504.0), 0x7bff);  // the largest
  EXPECT_EQ(half_of(65519.996), 0x7bff);
  EXPECT_EQ(half_of(65520.0), 0x7c00);  // half a unit further: infinity
  EXPECT_EQ(half_of(0x1p-24), 0x0001);  // the smallest
  EXPECT_EQ(half_of(0x1p-25), 0x0000);  // a tie: to even
  EXPECT_EQ(half_of(0x1.000001p-25), 0x0001);
  EXPECT_EQ(half_of(0x1.ffcp-15), 0x0400);    // rounds up to the smallest normal one
  EXPECT_EQ(half_of(1 + 0x1p-11), 0x3c00);    // a tie: to even
  EXPECT_EQ(half_of(1 + 0x1.8p-10), 0x3c02);  // a tie: to even
  EXPECT_EQ(half_of(-0.0), 0x8000);
  EXPECT_EQ(half_of(std::numeric_limits<double>::infinity()), 0x7c00);
  EXPECT_TRUE(std::isinf(float_of_half(0xfc00)));
  EXPECT_TRUE(std::isnan(float_of_half(half_of(std::nan("")))));
  // Twice rounded, through float, this would be a tie and go down.
  EXPECT_EQ(half_of(1 + 0x1p-11 + 0x1p-40), 0x3c01);
}

#ifdef __FLT16_MAX__
TEST(Half, RoundsAsTheCompilerDoes) {
  std::mt19937_64 rng(5);
  std::uniform_real_distribution<double> exponent(-28, 17), fraction(1, 2);
  for (int i = 0; i < 100'000; ++i) {
    const double value = std::exp2(std::floor(exponent(rng))) * fraction(rng);
    for (const double x : {value, -value, double(float(value))}) {
      const auto right = std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
      ASSERT_EQ(half_of(x), right) << x;
      ASSERT_EQ(float_of_half(right), static_cast<float>(std::bit_cast<_Float16>(right)));
    }
  }
}
#endif

}  // namespace
}  // namespace fettle
