// Activations as expressions of the IR: no library is called, so every back end
// computes the same. float32 in, float32 out.
#pragma once

#include "host/ir/expr.h"

namespace fettle::space {

// e^x by Cephes' expf (S. Moshier): x = n ln 2 + r with ln 2 in two parts, a polynomial
// of degree 5 in r, times 2^n. x is cut to 88.3; below -87.7 it is 0, so that what a softmax masks
// by -infinity has no share. Relative error below 3e-7 from -87 to 88.
ir::Expr exponential(const ir::Expr& x);

// The same where more than a share of a sum is asked: infinity above 88.73, and below -87.3 what
// float32 still has, 0 from -104 on.
ir::Expr exponential_to_its_ends(const ir::Expr& x);

// 1 / (1 + e^-x). Absolute error below 2e-7.
ir::Expr sigmoid(const ir::Expr& x);

// 1 - 2 / (1 + e^2x). Absolute error below 4e-7: near zero it is not relative.
ir::Expr hyperbolic_tangent(const ir::Expr& x);

// x / (1 + e^-x), that is SiLU. Absolute error below 1e-6 for |x| <= 4, and below 2.5e-7 |x|
// beyond.
ir::Expr swish(const ir::Expr& x);

// x min(max(x + 3, 0), 6) / 6.
ir::Expr hard_swish(const ir::Expr& x);

// erf by Abramowitz and Stegun 7.1.26. Absolute error below 6e-7.
ir::Expr error_function(const ir::Expr& x);

// x (1 + erf(x / sqrt 2)) / 2, with erf by Abramowitz and Stegun 7.1.26, whose
// absolute error is below 1.5e-7. Absolute error below 6e-7 for |x| <= 4, and below
// 1.5e-7 |x| beyond.
ir::Expr gelu(const ir::Expr& x);

// ln x by Cephes' logf (S. Moshier): x = m 2^e, a polynomial of degree 8 in m - 1. Relative error
// below 3e-7, absolute one below 1e-7 near 1. Of 0: -inf; of less: not a number; of what is smaller
// than 1.2e-38, and not 0: that of 1.2e-38.
ir::Expr logarithm(const ir::Expr& x);
// x^y by e^(y ln |x|): to float32's ends, and as C's pow() where one of the two is 0, 1 or below 0,
// but for the sign of a zero and infinite ones.
ir::Expr power(const ir::Expr& x, const ir::Expr& y);

// x = k pi + r with pi in three parts, and Taylor's series of degree 11 of r in [-pi/2, pi/2].
// Absolute error below 3e-7 for |x| <= 8000; it grows with x, and beyond 1e7 nothing of it is right
// but that it is from -1 to 1.
ir::Expr sine(const ir::Expr& x);
ir::Expr cosine(const ir::Expr& x);

// ln(1 + e^x). Absolute error below 3e-7 for |x| <= 4, and below 2e-7 x beyond.
ir::Expr softplus(const ir::Expr& x);

// x tanh(ln(1 + e^x)), with tanh(ln u) = (u^2 - 1) / (u^2 + 1). Absolute error below 1e-6 for
// |x| <= 4, and below 2.5e-7 |x| beyond.
ir::Expr mish(const ir::Expr& x);

// A condition, from the bits: compilers may take for granted that x equals itself.
ir::Expr is_nan(const ir::Expr& x);

// Bound of the absolute errors of sigmoid to gelu, in float32 and with its roundings, for
// |x| <= 4; beyond, gelu's grows with x as its value does.
inline constexpr double kActivationError = 1e-6;

// min(max(x, low), high), of any type.
ir::Expr clip(const ir::Expr& x, double low, double high);

}  // namespace fettle::space
