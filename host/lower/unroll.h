// Unroll: loops annotated Unrolled become their iterations, one after another, and all is
// simplified (host/ir/simplify.h).
#pragma once

#include "host/ir/stmt.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// Indices of register tiles are constants afterwards. Runs after vectorise. Fails
// when a loop has no constant bounds or the result exceeds `most` stores: code
// that large helps nobody and takes minutes to compile.
Result<ir::Stmt> unroll(const ir::Stmt& stmt, std::int64_t most = 16384);

}  // namespace fettle::lower
