// Quotients and remainders of sums: what fused axes leave in indices is taken apart where the
// ranges of loops allow it, and put together again where a buffer lies as the axes were fused.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// (c * f + r) / f = c and (c * f + r) % f = r for 0 <= r < f, c any sum of what is divisible;
// (x / (a * b)) * b * s + ((x / a) % b) * s = (x / a) * s, in flat indices. Runs after storage is
// flattened; again after unrolling, which makes r a constant.
ir::Stmt simplify_quotients(const ir::Stmt& stmt);

}  // namespace fettle::lower
