// Quotients and remainders of sums: what fused axes leave in indices is taken apart where the
// ranges of loops allow it, and put together again where a buffer lies as the axes were fused.
#pragma once

#include "host/ir/affine.h"
#include "host/ir/stmt.h"

namespace fettle::lower {

// (c * g + r) / (g * h) = c / h and (c * g + r) % (g * h) = (c % h) * g + r for 0 <= r < g, c any
// sum; with h = 1, c and r;
// (x / (a * b)) * b * s + ((x / a) % b) * s = (x / a) * s, in flat indices. Runs after storage is
// flattened; again after unrolling, which makes r a constant.
ir::Stmt simplify_quotients(const ir::Stmt& stmt);
ir::Expr quotients_simplified(const ir::Expr& expr, const ir::Ranges& ranges);

}  // namespace fettle::lower
