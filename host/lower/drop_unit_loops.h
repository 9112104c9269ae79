// Loops of one iteration, and names of constants, are dropped.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// `for v in m +1` that is serial or unrolled, and `let v = m`, become their bodies with m in place
// of v, where m is a constant. Half of a nest's loops are such: tiles as large as their axis, or of
// one element. Behind it, and so for features, two programs that differ only in where these loops
// stood are equal. Others' loops stay: their back ends look for them. Runs right after build_loops.
ir::Stmt drop_unit_loops(const ir::Stmt& stmt);

}  // namespace fettle::lower
