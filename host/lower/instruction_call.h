// Loops as one instruction with a shape.
#pragma once

#include "host/ir/intrinsics.h"
#include "host/ir/stmt.h"

namespace fettle::lower {

// so_far and what the iterations of the loop over `along`, which is as long as the row's tile,
// add to it. value: what one of them adds, operands_of(row, value) being its operands, whose
// last indices move by one element with `along` and the others not at all.
ir::Expr instruction_call(const ir::IntrinsicRow& row, const ir::Expr& value, const ir::Var& along,
                          const ir::Expr& so_far);

// The same of a row of several threads: `loops`, the innermost ones, are its tile's sides in the
// order m, n, k, those that it has. to: where the element goes that the loops are at. value: as
// above, or what is copied there; null: the row reads nothing. The call is in a loop over
// the row's threads, unless `in_threads`.
ir::Stmt tile_call(const ir::IntrinsicRow& row, const ir::Expr& value, const ir::Expr& to,
                   std::vector<ir::Var> loops, bool in_threads);

}  // namespace fettle::lower
