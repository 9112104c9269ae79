// Blocks of threads: how large those of a launch are, and whether all their threads come to
// every barrier.
#pragma once

#include <map>

#include "host/ir/module.h"
#include "host/lower/bounds.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// Threads of a block along each axis within it; none: the launch has no threads.
using BlockSizes = std::map<ir::ThreadAxis, std::int64_t>;
// The longest loops over each axis, of the launch's stage and of those computed inside it.
BlockSizes block_sizes(const space::Schedule& schedule, const Bounds& bounds,
                       const space::Stage& launch);

// InvalidArgument: a barrier in a branch or a loop that threads of one block take differently, or
// a TileCall where neighbours along x do.
Result<void> check_barriers(const ir::Function& function);

}  // namespace fettle::lower
