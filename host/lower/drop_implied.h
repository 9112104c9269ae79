// Conditions of loads and selects that hold because of a branch around them are dropped.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// Inside `if c`: comparisons that follow from one of c's become true. Only those that
// are affine in loop variables and differ from c's by a constant are understood. What
// the tiles that split_border makes, and iterations under a skip of zeros, need: rows of
// an image are tested once instead of at every load. Runs after split_border.
ir::Stmt drop_implied(const ir::Stmt& stmt);

}  // namespace fettle::lower
