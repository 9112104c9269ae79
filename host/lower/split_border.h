// Border splitting: tiles inside an image lose the conditions of its padding.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// Around each register tile: if all comparisons in the conditions of its loads, selects
// and branches hold for the whole tile, the tile without them, else the tile as it is.
// Only comparisons that are affine in loop variables are looked at. What a padding
// stage that was inlined needs. Runs on indices per dimension, before unrolling,
// while the loops of a tile still say how far their variables go.
ir::Stmt split_border(const ir::Stmt& stmt);

}  // namespace fettle::lower
