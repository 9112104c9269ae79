// Pinning tiles to the border: of the tiles of a row only the first and the last one reach into
// its padding, and where they lie is known.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// A register tile whose loads still ask where along one direction they are becomes up to three:
// the first tile of the row and the last one with their place written into the conditions, those
// between without conditions. Loops over the window that the conditions speak of are unrolled
// there, so that simplify decides each condition and drop_zero_products leaves out what is
// multiplied with padding. A tile stays as it is where its place is not affine in loop variables,
// or where more than one tile reaches over the same side. Runs after drop_implied, on indices per
// dimension, before unrolling.
ir::Stmt pin_border(const ir::Stmt& stmt);

}  // namespace fettle::lower
