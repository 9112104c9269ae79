// Activations (activations.h).
#include "host/space/operators/activations.h"

#include <initializer_list>
#include <limits>

namespace fettle::space {

namespace {

ir::Expr f(double value) { return ir::float_imm(value); }
ir::Expr div(ir::Expr a, ir::Expr b) { return ir::binary(ir::BinaryOp::Div, a, b); }

// coefficients[0] x^(n-1) + … + coefficients[n-1]
ir::Expr polynomial(const ir::Expr& x, std::initializer_list<double> coefficients) {
  ir::Expr sum;
  for (const double c : coefficients) sum = sum ? sum * x + f(c) : f(c);
  return sum;
}

// e^x = power * 2^n, power about 1.
struct Parts {
  ir::Expr power, n;
};

Parts parts_of(const ir::Expr& x) {
  const ir::Expr n = ir::unary(ir::UnaryOp::Floor, x * f(1.44269504088896341) + f(0.5));
  // ln 2: the first part has few bits, so that its product with n is exact.
  const ir::Expr r = x - n * f(0.693359375) - n * f(-2.12194440e-4);
  const ir::Expr tail = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                                       4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  return {tail * (r * r) + r + f(1), n};
}

// 2^n for a whole number from -127, where it is 0, to 127.
ir::Expr two_to(const ir::Expr& n) {
  const ir::Expr exponent = ir::cast(ir::kInt32, n) + ir::int_imm(127);
  return ir::reinterpret(ir::kFloat32,
                         ir::binary(ir::BinaryOp::ShiftLeft, exponent, ir::int_imm(23)));
}

}  // namespace

ir::Expr exponential(const ir::Expr& x) {
  // Below -87.7 n is -127: 0.
  const Parts e = parts_of(clip(x, -88.02, 88.3));
  return e.power * two_to(e.n);
}

ir::Expr exponential_to_its_ends(const ir::Expr& x) {
  // Of a product of two powers of two the larger ones overflow and the smaller ones lose their
  // bits.
  const Parts e = parts_of(clip(x, -105, 89.5));
  const ir::Expr half = ir::unary(ir::UnaryOp::Floor, e.n * f(0.5));
  return e.power * two_to(half) * two_to(e.n - half);
}

ir::Expr sigmoid(const ir::Expr& x) { return div(f(1), f(1) + exponential(f(0) - x)); }

ir::Expr hyperbolic_tangent(const ir::Expr& x) {
  return f(1) - div(f(2), f(1) + exponential(x + x));
}

ir::Expr swish(const ir::Expr& x) { return x * sigmoid(x); }

ir::Expr hard_swish(const ir::Expr& x) { return x * clip(x + f(3), 0, 6) * f(1.0 / 6); }

// erfc(z), z >= 0.
static ir::Expr complement(const ir::Expr& z) {
  const ir::Expr t = div(f(1), f(1) + f(0.3275911) * z);
  const ir::Expr series =
      polynomial(t, {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592}) * t;
  return series * exponential(f(0) - z * z);
}

ir::Expr error_function(const ir::Expr& x) {
  const ir::Expr size = f(1) - complement(ir::unary(ir::UnaryOp::Abs, x));
  return ir::select(ir::binary(ir::BinaryOp::Lt, x, f(0)), f(0) - size, size);
}

ir::Expr gelu(const ir::Expr& x) {
  // erfc(z) / 2, and by symmetry the normal distribution of x on either side of 0.
  const ir::Expr half =
      complement(ir::unary(ir::UnaryOp::Abs, x) * f(0.70710678118654752)) * f(0.5);
  const ir::Expr negative = ir::binary(ir::BinaryOp::Lt, x, f(0));
  return x * ir::select(negative, half, f(1) - half);
}

ir::Expr logarithm(const ir::Expr& argument) {
  constexpr double kLeast = 1.17549435e-38;  // with all its digits
  const ir::Expr x = ir::binary(ir::BinaryOp::Max, argument, f(kLeast));
  const ir::Expr bits = ir::reinterpret(ir::kInt32, x), digits = ir::int_imm(23);
  const ir::Expr e =
      ir::binary(ir::BinaryOp::ShiftRight, bits, digits) - ir::int_imm(127);  // m in [1, 2)
  const ir::Expr m =
      ir::reinterpret(ir::kFloat32, bits - ir::binary(ir::BinaryOp::ShiftLeft, e, digits));
  const ir::Expr high = ir::binary(ir::BinaryOp::Lt, f(1.41421356237), m);
  const ir::Expr r = ir::select(high, m * f(0.5), m) - f(1);
  const ir::Expr exponent = ir::cast(ir::kFloat32, e) + ir::select(high, f(1), f(0));
  const ir::Expr tail = polynomial(r, {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1,
                                       -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
                                       2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1}) *
                        r * (r * r);
  const ir::Expr value =
      r + (tail + exponent * f(-2.12194440e-4) - f(0.5) * (r * r)) + exponent * f(0.693359375);
  const ir::Expr infinite = ir::float_imm(std::numeric_limits<double>::infinity());
  const ir::Expr at_ends = ir::select(
      ir::binary(ir::BinaryOp::Lt, argument, f(0)), ir::unary(ir::UnaryOp::Sqrt, argument),
      ir::select(ir::binary(ir::BinaryOp::Lt, argument, infinite), f(0) - infinite, argument));
  const ir::Expr usual = ir::binary(ir::BinaryOp::And, ir::binary(ir::BinaryOp::Lt, f(0), argument),
                                    ir::binary(ir::BinaryOp::Lt, argument, infinite));
  return ir::select(usual, value, at_ends);
}

ir::Expr power(const ir::Expr& x, const ir::Expr& y) {
  const auto same = [](const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(ir::BinaryOp::Eq, a, b);
  };
  const auto floor = [](const ir::Expr& a) { return ir::unary(ir::UnaryOp::Floor, a); };
  const ir::Expr size = exponential_to_its_ends(y * logarithm(ir::unary(ir::UnaryOp::Abs, x)));
  const ir::Expr half = y * f(0.5);
  const ir::Expr with_sign = ir::select(same(half, floor(half)), size, f(0) - size);
  // The root of -1 is no number.
  const ir::Expr of_negative =
      ir::select(same(y, floor(y)), with_sign, ir::unary(ir::UnaryOp::Sqrt, f(-1)));
  const ir::Expr usual = ir::select(ir::binary(ir::BinaryOp::Lt, x, f(0)), of_negative, size);
  const ir::Expr is_one = ir::binary(ir::BinaryOp::Or, same(x, f(1)), same(y, f(0)));
  return ir::select(is_one, f(1), usual);
}

namespace {

// (-1)^k times the sine of r = x - (k + half) pi.
ir::Expr folded_sine(const ir::Expr& x, const ir::Expr& k, double half) {
  const ir::Expr n = k + f(half);
  const ir::Expr r =
      x - n * f(3.140625) - n * f(9.67502593994140625e-4) - n * f(1.509957990978376432e-7);
  const ir::Expr square = r * r;
  const ir::Expr series =
      polynomial(square, {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6});
  const ir::Expr odd = k - f(2) * ir::unary(ir::UnaryOp::Floor, k * f(0.5));
  return (r + r * square * series) * (f(1) - f(2) * odd);
}
ir::Expr nearest(const ir::Expr& x) { return ir::unary(ir::UnaryOp::RoundEven, x); }
constexpr double kTurns = 0.318309886183790672;  // 1 / pi

}  // namespace

ir::Expr sine(const ir::Expr& x) { return clip(folded_sine(x, nearest(x * f(kTurns)), 0), -1, 1); }

ir::Expr cosine(const ir::Expr& x) {
  return clip(f(0) - folded_sine(x, nearest(x * f(kTurns) - f(0.5)), 0.5), -1, 1);
}

ir::Expr softplus(const ir::Expr& x) {
  const ir::Expr small = exponential(f(0) - ir::unary(ir::UnaryOp::Abs, x));
  // Beside 1 a float32 has nothing left of the smallest: by the first terms of the series.
  const ir::Expr series = small * (f(1) - small * (f(0.5) - small * f(1.0 / 3)));
  const ir::Expr rest =
      ir::select(ir::binary(ir::BinaryOp::Lt, small, f(1e-3)), series, logarithm(f(1) + small));
  return ir::binary(ir::BinaryOp::Max, x, f(0)) + rest;
}

ir::Expr mish(const ir::Expr& x) {
  // e^20 is so large that the quotient is 1.
  const ir::Expr e = exponential(ir::binary(ir::BinaryOp::Min, x, f(20)));
  const ir::Expr n = e * (e + f(2));
  return x * div(n, n + f(2));
}

ir::Expr is_nan(const ir::Expr& x) {
  // Without its sign an infinite number is 0x7f800000, and all above is none.
  const ir::Expr twice =
      ir::binary(ir::BinaryOp::ShiftLeft, ir::reinterpret(ir::kInt32, x), ir::int_imm(1));
  return ir::binary(ir::BinaryOp::And, ir::binary(ir::BinaryOp::Lt, ir::int_imm(-16777216), twice),
                    ir::binary(ir::BinaryOp::Lt, twice, ir::int_imm(0)));
}

ir::Expr clip(const ir::Expr& x, double low, double high) {
  const auto bound = [&](double value) {
    return x->type.is_float() ? ir::float_imm(value, x->type)
                              : ir::int_imm(static_cast<std::int64_t>(value), x->type);
  };
  // A bound that is int64's end, or beyond, is none.
  const auto counts = [&](double value) {
    return x->type.is_float() || (value > -0x1p63 && value < 0x1p63);
  };
  ir::Expr clipped = x;
  if (counts(low)) clipped = ir::binary(ir::BinaryOp::Max, clipped, bound(low));
  if (counts(high)) clipped = ir::binary(ir::BinaryOp::Min, clipped, bound(high));
  return clipped;
}

}  // namespace fettle::space
