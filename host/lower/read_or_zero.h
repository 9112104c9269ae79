// Registers are filled without branches.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// if p {r[i] = from[j]} else {r[i] = 0}, with r in registers: r[i] = (from[j] if p), which a back
// end makes without a branch. A tile's transform at an image's border reads each of its pixels so:
// 16 branches were three times the compiler's work of the tile inside, and hard to predict. Runs
// after split_predicates (which makes such branches, of any copy), before unroll.
ir::Stmt read_or_zero(const ir::Stmt& stmt);

}  // namespace fettle::lower
