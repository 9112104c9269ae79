// Activations against libm: the errors that activations.h states.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "host/ir/interpreter.h"
#include "host/space/operators/activations.h"

namespace fettle::space {
namespace {

struct Point {
  float x;
  double value;
};

// The function in float32 arithmetic at evenly spaced places of [low, high].
std::vector<Point> over(const std::function<ir::Expr(const ir::Expr&)>& function, double low,
                        double high) {
  constexpr std::int64_t kCount = 40001;
  const auto buffer = [&](const char* name) {
    return std::make_shared<const ir::BufferDecl>(ir::BufferDecl{name, ir::kFloat32, {kCount}});
  };
  const ir::Buffer in = buffer("in"), out = buffer("out");
  const ir::Var i = ir::make_var("i");
  const ir::Expr at = ir::var_ref(i);
  const ir::Stmt loop = ir::make_for(i, ir::int_imm(0), ir::int_imm(kCount), ir::ForKind::Serial,
                                     ir::make_store(out, {at}, function(ir::load(in, {at}))));
  std::vector<float> x(kCount), y(kCount);
  for (std::int64_t k = 0; k < kCount; ++k) {
    x[std::size_t(k)] = float(low + (high - low) * double(k) / double(kCount - 1));
  }
  const auto bytes = [](std::vector<float>& v) {
    return std::span(reinterpret_cast<std::uint8_t*>(v.data()), v.size() * 4);
  };
  const auto problem = ir::interpret(loop, {{in, bytes(x)}, {out, bytes(y)}});
  EXPECT_FALSE(problem) << *problem;
  std::vector<Point> points;
  for (std::size_t k = 0; k < x.size(); ++k) points.push_back({x[k], y[k]});
  return points;
}

TEST(Activations, ExponentialIsRelativelyRight) {
  double worst = 0;
  for (const Point& p : over(exponential, -87, 88)) {
    worst = std::max(worst, std::fabs(p.value / std::exp(double{p.x}) - 1));
  }
  EXPECT_LT(worst, 3e-7);
  for (const Point& p : over(exponential, -88, -87)) EXPECT_LT(p.value, 2e-38);
  // Beyond its ends: nothing, and the largest value.
  for (const Point& p : over(exponential, -1000, -88)) EXPECT_EQ(p.value, 0);
  for (const Point& p : over(exponential, 89, 1000)) EXPECT_GT(p.value, 2e38);
}

TEST(Activations, ExponentialToItsEnds) {
  double worst = 0;
  for (const Point& p : over(exponential_to_its_ends, -87, 88.72)) {
    worst = std::max(worst, std::fabs(p.value / std::exp(double{p.x}) - 1));
  }
  EXPECT_LT(worst, 3e-7);
  for (const Point& p : over(exponential_to_its_ends, -120, -87)) {
    EXPECT_NEAR(p.value, std::exp(double{p.x}), 1e-6 * std::exp(double{p.x}) + 0x1p-149) << p.x;
  }
  for (const Point& p : over(exponential_to_its_ends, 88.73, 1000)) {
    EXPECT_EQ(p.value, std::numeric_limits<float>::infinity()) << p.x;
  }
}

TEST(Activations, SinesOfLargeNumbersStayWithinOne) {
  for (const auto& of : {sine, cosine}) {
    for (const Point& p : over(of, -1e20, 1e20)) EXPECT_LE(std::fabs(p.value), 1) << p.x;
  }
}

double worst_of(const std::function<ir::Expr(const ir::Expr&)>& function,
                const std::function<double(double)>& right, double low, double high) {
  double worst = 0;
  for (const Point& p : over(function, low, high)) {
    worst = std::max(worst, std::fabs(p.value - right(double{p.x})));
  }
  return worst;
}

TEST(Activations, SigmoidAndTanh) {
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(worst_of(sigmoid, logistic, -100, 100), 2e-7);
  EXPECT_LT(worst_of(sigmoid, logistic, -4, 4), 2e-7);
  const auto right = [](double x) { return std::tanh(x); };
  EXPECT_LT(worst_of(hyperbolic_tangent, right, -100, 100), 4e-7);
  EXPECT_LT(worst_of(hyperbolic_tangent, right, -2, 2), 4e-7);
}

TEST(Activations, Gelu) {
  const auto right = [](double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; };
  EXPECT_LT(worst_of(gelu, right, -4, 4), 6e-7);
  EXPECT_LT(worst_of(gelu, right, -20, 20), 3e-6);
}

TEST(Activations, Swish) {
  const auto right = [](double x) { return x / (1 + std::exp(-x)); };
  EXPECT_LT(worst_of(swish, right, -4, 4), 1e-6);
  EXPECT_LT(worst_of(swish, right, -40, 40), 1e-5);
}

TEST(Activations, Logarithm) {
  double relative = 0;
  for (const auto& [low, high] : {std::pair{2.0, 1e4}, {1e-6, 0.5}, {1e4, 3e38}}) {
    for (const Point& p : over(logarithm, low, high)) {
      relative = std::max(relative, std::fabs(p.value / std::log(double{p.x}) - 1));
    }
  }
  EXPECT_LT(relative, 3e-7);
  const auto right = [](double x) { return std::log(x); };
  EXPECT_LT(worst_of(logarithm, right, 0.5, 2), 1e-7);
}

TEST(Activations, SineAndCosine) {
  const auto sin = [](double x) { return std::sin(x); };
  const auto cos = [](double x) { return std::cos(x); };
  for (const double most : {1.0, 4.0, 100.0, 8000.0}) {
    EXPECT_LT(worst_of(sine, sin, -most, most), 3e-7) << most;
    EXPECT_LT(worst_of(cosine, cos, -most, most), 3e-7) << most;
  }
}

TEST(Activations, SoftplusAndMish) {
  const auto plus = [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); };
  const auto right = [&](double x) { return x * std::tanh(plus(x)); };
  EXPECT_LT(worst_of(softplus, plus, -4, 4), 3e-7);
  EXPECT_LT(worst_of(softplus, plus, -100, 4), 3e-7);
  EXPECT_LT(worst_of(softplus, plus, 4, 100), 2e-7 * 100);
  EXPECT_LT(worst_of(mish, right, -4, 4), 1e-6);
  EXPECT_LT(worst_of(mish, right, -100, 100), 2.5e-7 * 100);
}

TEST(Activations, HardSwishAndClip) {
  const auto right = [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; };
  EXPECT_LT(worst_of(hard_swish, right, -5, 5), 1e-6);
  const auto six = [](const ir::Expr& x) { return clip(x, 0, 6); };
  EXPECT_EQ(worst_of(six, [](double x) { return std::min(std::max(x, 0.0), 6.0); }, -9, 9), 0);
}

}  // namespace
}  // namespace fettle::space
