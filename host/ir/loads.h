// Questions to and changes of the loads in an expression.
#pragma once

#include <functional>

#include "host/ir/expr.h"

namespace fettle::ir {

bool mentions(const Expr& expr, const Var& var);

// Each load of `buffer` becomes what `rewrite` makes of it. Loads in its indices have been
// rewritten before.
Expr replace_loads(const Expr& expr, const Buffer& buffer,
                   const std::function<Expr(const Load&)>& rewrite);

// Loads for which `moves` holds happen under the condition; else they are 0.
Expr guard_loads(const Expr& expr, const Expr& condition,
                 const std::function<bool(const Load&)>& moves);

}  // namespace fettle::ir
