// Winograd's minimal filtering for windows of three: matrices, how their products
// are written, and what they cost in accuracy.
//
// F(m,3) computes m neighbouring outputs of a window of 3 from n = m + 2 inputs
// with n products: y = output * ((weight * g) . (input * d)). In two dimensions each
// matrix is applied along rows, then along columns, and n * n products take the
// place of 9 * m * m.
#pragma once

#include <vector>

#include "host/ir/expr.h"

namespace fettle::space {

using Matrix = std::vector<std::vector<double>>;  // rows

struct Winograd {
  int outputs;    // m
  int inputs;     // n
  Matrix output;  // m x n
  Matrix weight;  // n x 3
  Matrix input;   // n x n
  // How much larger the rounding errors of a two-dimensional sum are than those of
  // the direct sum of the same terms. Sums of independent terms have errors
  // proportional to the root of their mean square. With inputs and weights of mean
  // square 1, product i has |input row i|^2 |weight row i|^2 of it where the direct
  // sum has 3, and enters output a times output[a][i]. The largest over a, which is
  // the root for one dimension and, squared, stands for two.
  double error_growth;
};

// m = 2, 4 or 6, made by Toom and Cook's construction from points that are exact in
// binary: m = 2 from 0, 1, -1 and infinity, m = 4 from 0, 5/8, -5/8, 3/2, -3/2 and
// infinity, which grow errors to a quarter of what 0, 1, -1, 2, -2 do (8.2 against 31),
// m = 6 from 0, 1, -1, 2, -2, 1/2, -1/2 and infinity (46; the best in sixteenths: 45).
const Winograd& winograd(int outputs);

// matrix * values, one expression per row. Rows and columns that differ only in
// signs share their sums, which the back end finds and computes once.
std::vector<ir::Expr> product(const Matrix& matrix, const std::vector<ir::Expr>& values);

}  // namespace fettle::space
