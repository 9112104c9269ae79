// The outermost parallel loop of a function becomes the launch's parallel extent.
#pragma once

#include "host/ir/module.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// A function without a parallel loop runs as one task. A parallel loop anywhere
// else is an error.
Result<ir::Function> extract_parallel(ir::Function function);

}  // namespace fettle::lower
