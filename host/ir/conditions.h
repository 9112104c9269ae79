// Conditions as the parts that must all hold.
#pragma once

#include <optional>
#include <vector>

#include "host/ir/affine.h"

namespace fettle::ir {

// a && b && … → a, b, …, in their order; another condition is its one part.
std::vector<Expr> conjuncts(const Expr& condition);
// The inverse. None: null, no condition.
Expr all_of(const std::vector<Expr>& parts);

// Of a < b or a <= b of integers: a form that is >= 0 where it holds and nowhere else. Empty: no
// such comparison, or not affine.
std::optional<Affine> slack_of(const Expr& comparison);

}  // namespace fettle::ir
