// build_loops: from a schedule and its bounds to a Module of loop nests, still
// with one index per dimension, annotated loops and the parallel loop in the body.
#pragma once

#include "host/ir/module.h"
#include "host/lower/bounds.h"
#include "host/space/schedule.h"

namespace fettle::lower {

// One function and launch per stage that is not computed inside another. Launches
// that depend on constants only are prepare launches. Scratch areas per thread
// get the thread's number as first dimension, of `threads`.
Result<ir::Module> build_loops(const space::Schedule& schedule, const Bounds& bounds, int threads);

}  // namespace fettle::lower
