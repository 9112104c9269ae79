// Activations (activations.h).
#include "host/space/operators/activations.h"

#include <initializer_list>

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

}  // namespace

ir::Expr exponential(const ir::Expr& argument) {
  const ir::Expr x = clip(argument, -87.3, 88.3);
  const ir::Expr n = ir::unary(ir::UnaryOp::Floor, x * f(1.44269504088896341) + f(0.5));
  // ln 2: the first part has few bits, so that its product with n is exact.
  const ir::Expr r = x - n * f(0.693359375) - n * f(-2.12194440e-4);
  const ir::Expr tail = polynomial(r, {1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                                       4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  const ir::Expr power = tail * (r * r) + r + f(1);
  const ir::Expr exponent = ir::cast(ir::kInt32, n) + ir::int_imm(127);
  return power * ir::reinterpret(ir::kFloat32,
                                 ir::binary(ir::BinaryOp::ShiftLeft, exponent, ir::int_imm(23)));
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

ir::Expr clip(const ir::Expr& x, double low, double high) {
  const auto bound = [&](double value) {
    return x->type.is_float() ? ir::float_imm(value, x->type)
                              : ir::int_imm(static_cast<std::int64_t>(value), x->type);
  };
  return ir::binary(ir::BinaryOp::Min, ir::binary(ir::BinaryOp::Max, x, bound(low)), bound(high));
}

}  // namespace fettle::space
