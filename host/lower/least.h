// Least values of comparisons: what must not be negative for one to hold everywhere
// inside a statement.
#pragma once

#include <optional>
#include <set>

#include "host/ir/affine.h"
#include "host/ir/stmt.h"

namespace fettle::lower {

// What a statement binds: variables with their ranges, and those without.
struct Bound {
  ir::Ranges ranges;
  std::set<ir::Var> unknown;
};

Bound bound_in(const ir::Stmt& stmt);

// a < b or a <= b holds for all values of the bound variables where this form of the
// other ones is >= 0. Empty: no such comparison, or not affine.
std::optional<ir::Affine> least_of(const ir::Expr& comparison, const Bound& bound);

}  // namespace fettle::lower
