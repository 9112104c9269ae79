// Vectorise: loops annotated Vectorized become vector expressions.
#pragma once

#include "host/ir/stmt.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// The loop's body must be stores (nested blocks and lets are allowed). Indices that are
// affine in the loop variable, or step evenly from lane to lane, become ramps, others vectors
// of indices. Needs constant extents, from 1 up:
// one iteration is inlined. Runs after flatten_storage.
Result<ir::Stmt> vectorize(const ir::Stmt& stmt);

}  // namespace fettle::lower
