// Tails of splits that are guarded or padded (host/space/schedule.h): what building loops asks of
// them.
#pragma once

#include "host/lower/bounds.h"

namespace fettle::lower {

// Where a stage that is a launch is stored: its own buffer, or a longer one.
ir::Buffer padded_buffer(const space::Stage& stage, const StageBounds& bounds);

// The stage's body, which reads nothing in padding, and in a reduction is the neutral element
// there.
ir::Expr body_within(const space::Stage& stage, const StageBounds& bounds);

// A guard that differs between the lanes of a vectorised loop is part of the store's predicate;
// others are statements around the body.
bool differs_by_lane(const ir::Expr& guard, const StageBounds& bounds);
// All of the first kind; null: there is none. initialise: of the stores of neutral elements,
// which happen outside of reduction loops.
ir::Expr lanes_guard(const StageBounds& bounds, bool initialise);

}  // namespace fettle::lower
