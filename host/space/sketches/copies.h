// Copies of a tensor by whole vectors, also where a copy's last axis is not the one that lies
// last in what it copies.
#pragma once

#include "host/space/sketches/steps.h"

namespace fettle::space {

// Vectorises the copy stage: `lanes` (at most its last axis) of its last axis; or, where it
// copies another order, tiles of both axes, read by vectors and written by vectors once the
// back end has transposed them. `part`: the fewest elements of the axis that it reads along
// that are copied at once, where a task makes its own copy.
void vectorize_copy(Steps& steps, const Stage& copy, std::int64_t lanes, std::int64_t part);

}  // namespace fettle::space
