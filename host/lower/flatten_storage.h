// Storage flattening: one index per access, in elements, row-major.
#pragma once

#include "host/ir/stmt.h"

namespace fettle::lower {

// Runs before vectorise, so that a vector access is a ramp over one index. Tiles
// of registers and stack become one-dimensional buffers.
ir::Stmt flatten_storage(const ir::Stmt& stmt);

}  // namespace fettle::lower
