// A loop as one instruction with a shape.
#pragma once

#include "host/ir/intrinsics.h"

namespace fettle::lower {

// so_far and what the iterations of the loop over `along`, which is as long as the row's tile,
// add to it. value: what one of them adds, operands_of(row, value) being its operands, whose
// last indices move by one element with `along` and the others not at all.
ir::Expr instruction_call(const ir::IntrinsicRow& row, const ir::Expr& value, const ir::Var& along,
                          const ir::Expr& so_far);

}  // namespace fettle::lower
