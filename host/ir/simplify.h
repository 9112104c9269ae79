// Simplifier: indices into affine form, comparisons, min, max, div and mod decided
// by the ranges of loop variables, loops of one iteration and dead branches removed.
#pragma once

#include "host/ir/affine.h"
#include "host/ir/stmt.h"

namespace fettle::ir {

Expr simplify(const Expr& expr, const Ranges& ranges = {});
Stmt simplify(const Stmt& stmt, const Ranges& ranges = {});

}  // namespace fettle::ir
