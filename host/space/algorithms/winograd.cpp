// Winograd's matrices and their products as expressions (winograd.h).
#include "host/space/algorithms/winograd.h"

#include <algorithm>
#include <cmath>

namespace fettle::space {

namespace {

// The coefficients of the product of (x - root), the constant first.
std::vector<double> polynomial(const std::vector<double>& roots) {
  std::vector<double> c{1};
  for (const double root : roots) {
    c.push_back(0);
    for (std::size_t i = c.size() - 1; i > 0; --i) c[i] = c[i - 1] - root * c[i];
    c[0] *= -root;
  }
  return c;
}

double square(const std::vector<double>& row) {
  double sum = 0;
  for (const double v : row) sum += v * v;
  return sum;
}

Winograd make(int outputs, const std::vector<double>& points) {
  const auto n = points.size() + 1, m = std::size_t(outputs);
  Winograd w{outputs,
             int(n),
             Matrix(m, std::vector<double>(n)),
             Matrix(n, std::vector<double>(3)),
             Matrix(n, std::vector<double>(n)),
             0};
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<double> others = points;
    others.erase(others.begin() + std::ptrdiff_t(i));
    double scale = 1;
    for (const double other : others) scale *= points[i] - other;
    for (std::size_t a = 0; a < m; ++a) w.output[a][i] = std::pow(points[i], double(a));
    for (std::size_t r = 0; r < 3; ++r) w.weight[i][r] = std::pow(points[i], double(r)) / scale;
    const std::vector<double> c = polynomial(others);
    std::copy(c.begin(), c.end(), w.input[i].begin());
  }
  w.output[m - 1][n - 1] = w.weight[n - 1][2] = 1;
  w.input[n - 1] = polynomial(points);
  for (std::size_t a = 0; a < m; ++a) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sum += w.output[a][i] * w.output[a][i] * square(w.input[i]) * square(w.weight[i]);
    }
    w.error_growth = std::max(w.error_growth, sum / 3);
  }
  return w;
}

struct Term {
  double factor;
  ir::Expr value;
};

// The sum of the terms that are not zero, those without a multiplication first.
ir::Expr sum_of(std::vector<Term> terms) {
  std::erase_if(terms, [](const Term& t) { return t.factor == 0; });
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return (a.factor == 1) > (b.factor == 1); });
  ir::Expr sum;
  for (const Term& t : terms) {
    if (sum && t.factor == -1) {
      sum = sum - t.value;
      continue;
    }
    const ir::Expr term = t.value * ir::float_imm(t.factor, t.value->type);
    sum = sum ? sum + term : term;
  }
  return sum;
}

// Columns p and q have the same magnitude in every row, so that their sum and their
// difference serve all rows.
bool paired_columns(const Matrix& matrix, std::size_t p, std::size_t q) {
  bool any = false;
  for (const auto& row : matrix) {
    if (std::fabs(row[p]) != std::fabs(row[q])) return false;
    any |= row[p] != 0;
  }
  return any;
}

}  // namespace

const Winograd& winograd(int outputs) {
  static const Winograd two = make(2, {0, 1, -1});
  static const Winograd four = make(4, {0, 0.625, -0.625, 1.5, -1.5});
  static const Winograd six = make(6, {0, 1, -1, 2, -2, 0.5, -0.5});
  return outputs == 2 ? two : outputs == 4 ? four : six;
}

std::vector<ir::Expr> product(const Matrix& matrix, const std::vector<ir::Expr>& values) {
  const std::size_t columns = values.size();
  std::vector<std::size_t> partner(columns, columns);
  for (std::size_t p = 0; p < columns; ++p) {
    for (std::size_t q = p + 1; q < columns && partner[p] == columns; ++q) {
      if (partner[q] == columns && paired_columns(matrix, p, q)) partner[p] = q, partner[q] = p;
    }
  }
  std::vector<ir::Expr> out;
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    const auto& row = matrix[r];
    std::vector<Term> terms;
    if (std::any_of(partner.begin(), partner.end(), [&](auto p) { return p < columns; })) {
      for (std::size_t i = 0; i < columns; ++i) {
        const std::size_t p = partner[i];
        if (p == columns) terms.push_back({row[i], values[i]});
        if (p == columns || p < i || row[i] == 0) continue;
        const bool same = row[i] == row[p];
        terms.push_back({row[i], same ? values[i] + values[p] : values[i] - values[p]});
      }
      out.push_back(sum_of(std::move(terms)));
      continue;
    }
    // A row that is another's with some signs turned: both are a sum and a
    // difference of the same two halves.
    std::size_t other = 0;
    std::vector<Term> same, turned;
    for (; other < matrix.size(); ++other) {
      const auto& mate = matrix[other];
      const auto& first = matrix[std::min(r, other)];
      same.clear(), turned.clear();
      bool fits = other != r;
      for (std::size_t i = 0; i < columns && fits; ++i) {
        if (row[i] == 0 && mate[i] == 0) continue;
        if (row[i] == mate[i]) same.push_back({first[i], values[i]});
        if (row[i] == -mate[i]) turned.push_back({first[i], values[i]});
        fits = std::fabs(row[i]) == std::fabs(mate[i]);
      }
      if (fits && !same.empty() && !turned.empty()) break;
    }
    if (other == matrix.size()) {
      for (std::size_t i = 0; i < columns; ++i) terms.push_back({row[i], values[i]});
      out.push_back(sum_of(std::move(terms)));
    } else {
      const ir::Expr even = sum_of(same), odd = sum_of(turned);
      out.push_back(r < other ? even + odd : even - odd);
    }
  }
  return out;
}

}  // namespace fettle::space
