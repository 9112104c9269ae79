// Affine forms: an integer expression as constant + sum of coefficient * leaf. What indices
// are until a pass makes vectors of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "host/ir/expr.h"

namespace fettle::ir {

inline bool same_leaf(const Var& a, const Var& b) { return a == b; }
// The same variable, or one and the same expression.
bool same_leaf(const Expr& a, const Expr& b);

template <typename Leaf, typename Coefficient>
struct AffineSum {
  // In order of first appearance, so that text made from it does not depend on addresses;
  // no coefficient is zero.
  std::vector<std::pair<Leaf, Coefficient>> terms;
  Coefficient constant = 0;

  void add(const Leaf& leaf, Coefficient coefficient) {
    for (auto it = terms.begin(); it != terms.end(); ++it) {
      if (!same_leaf(it->first, leaf)) continue;
      it->second += coefficient;
      if (it->second == 0) terms.erase(it);
      return;
    }
    if (coefficient != 0) terms.emplace_back(leaf, coefficient);
  }
  void add(const AffineSum& other, Coefficient factor = 1) {
    constant += factor * other.constant;
    for (const auto& [leaf, coefficient] : other.terms) add(leaf, factor * coefficient);
  }
  Coefficient coefficient(const Leaf& leaf) const {
    for (const auto& [known, coefficient] : terms) {
      if (same_leaf(known, leaf)) return coefficient;
    }
    return 0;
  }
};

// Exact, over variables.
struct Affine : AffineSum<Var, std::int64_t> {
  Expr expr(DataType type = kInt32) const;
  // Whether this is what expr(its type) makes.
  bool is_written_as(const Expr& expr) const;
};
// expr + constant, as Affine::expr() writes a sum's last summand.
Expr plus(const Expr& expr, std::int64_t constant);
// Empty when the scalar expression is not affine in its variables.
std::optional<Affine> affine_of(const Expr& expr);

// Exact, over variables and over whatever is no sum: loads, quotients, minima.
using LeafSum = AffineSum<Expr, std::int64_t>;
LeafSum leaf_sum_of(const Expr& expr);

// How far an index moves with each variable, approximately: min, max and remainders count as
// their wider side, a choice as its first, divisions by constants divide the coefficients,
// vectors count as their first lane, and other leaves do not move.
using Movement = AffineSum<Var, double>;
// Variables that stand for sums of others.
using Movements = std::map<Var, Movement>;
Movement movement_of(const Expr& index, const Movements& lets = {});

// An index that goes in equal steps.
struct Strided {
  Expr base;
  std::int64_t stride;
};
// expr = base + stride * (var - begin), with base free of var. Empty: not of that form.
std::optional<Strided> strided_along(const Expr& expr, const Var& var, const Expr& begin);
// Lane by lane: vector = base + stride * lane.
std::optional<Strided> strided_lanes(const Expr& vector);

// vector = base + offset, each lane with a constant of its own; quotients and remainders are
// understood where the base is 0.
struct LaneOffsets {
  Expr base;
  std::vector<std::int64_t> offsets;
};
std::optional<LaneOffsets> lane_offsets(const Expr& vector);

// Inclusive.
struct Interval {
  std::int64_t low, high;
};
using Ranges = std::map<Var, Interval>;
// Bounds of a scalar integer expression; empty when a variable has no range or a
// node is not understood (loads).
std::optional<Interval> bounds_of(const Expr& expr, const Ranges& ranges);

// The same of an index that may read what is known only at run time: what is not understood is any
// number of its type, so that `min` and `max` with known numbers bound it.
Interval index_bounds(const Expr& expr, const Ranges& ranges);

// A form as what stays, without a constant, and all values of what moves and the constant.
struct Parts {
  Affine fixed;
  Interval moving;
};
// range_of: of a variable that moves; empty: it stays.
Parts parts_of(const Affine& form,
               const std::function<std::optional<Interval>(const Var&)>& range_of);

}  // namespace fettle::ir
