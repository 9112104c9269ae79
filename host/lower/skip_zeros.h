// Iterations that add nothing but zeros to a sum are not made (space::SkipZerosStep).
#pragma once

#include <set>

#include "host/ir/stmt.h"
#include "host/lower/bounds.h"
#include "host/space/schedule.h"

namespace fettle::lower {

// The body of the stage's loop under the condition that something in it can add to the sums.
// known: the stage's variables that have a value there. ranges: of all variables.
ir::Stmt without_zeros(const space::StagePlan& plan, const StageBounds& bounds,
                       const ir::Ranges& ranges, const ir::Var& loop,
                       const std::set<ir::Var>& known, ir::Stmt body);

}  // namespace fettle::lower
