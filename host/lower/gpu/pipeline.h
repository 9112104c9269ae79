// Loops that stage ahead: what an iteration reads of memory that a block shares is put there while
// an iteration before is computed. There are several places for it, which take turns.
#pragma once

#include "host/ir/module.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// Takes loops that are annotated so (ir::Pipeline), as build_loops makes them:
//   make what is shared; barrier; use it; barrier
// By copies beside the threads:
//   begin the first ones
//   each iteration: await its own; barrier; begin that of the iteration `stages - 1` further; use
//   it
// and else in two stages, through registers:
//   make the first
//   each iteration: barrier; read the next one's values; use it; write them to the other place
// So there is one barrier for each iteration. Runs first: it needs the shared arrays' shapes.
// InvalidArgument: the loop is not so made, or it has no constant bounds.
Result<ir::Function> pipeline(ir::Function function);

}  // namespace fettle::lower
