// Registers are filled without branches.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// if p {r[i] = from[j]} else {r[i] = 0}, with r in registers: r[i] = (from[j] if p), which a back
// end makes without a branch where it is a vector. A tile's transform at an image's border reads
// each of its pixels so, and is less work for the compiler. Runs after split_predicates (which
// makes such branches, of any copy; a program's features are taken there), before unroll.
ir::Stmt read_or_zero(const ir::Stmt& stmt);

}  // namespace fettle::lower
