// Linear: a scalar integer expression as constant + sum of coefficient * variable.
// What indices are until a pass makes vectors of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "host/ir/expr.h"

namespace fettle::ir {

struct Linear {
  // In order of first appearance, so that text made from it does not depend on addresses.
  std::vector<std::pair<Var, std::int64_t>> terms;
  std::int64_t constant = 0;

  void add(const Var& var, std::int64_t coefficient);
  void add(const Linear& other, std::int64_t factor = 1);
  std::int64_t coefficient(const Var& var) const;
  Expr expr(DataType type = kInt32) const;
};

// Empty when the expression is not linear in its variables.
std::optional<Linear> linear_of(const Expr& expr);

// Inclusive.
struct Interval {
  std::int64_t low, high;
};
using Ranges = std::map<Var, Interval>;
// Bounds of a scalar integer expression; empty when a variable has no range or a
// node is not understood (loads).
std::optional<Interval> bounds_of(const Expr& expr, const Ranges& ranges);

}  // namespace fettle::ir
