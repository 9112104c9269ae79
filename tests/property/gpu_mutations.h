// Seeded mistakes in programs of GPUs: what comes of threads that run at once.
#pragma once

#include "host/ir/module.h"

namespace fettle::property {

enum class GpuMistake {
  DroppedBarrier,
  SwappedAxis,  // a loop over threads along one axis counts those along another
  WideGuard,    // a guard lets one more through
  NarrowGuard,  // or one fewer
  StaleTile,    // what a block loads for a step is what it loaded for the step before
  WrongStage,   // of several places for what a block stages, another one is taken
  DroppedWait,  // copies beside the threads are not awaited
  Count
};

const char* name_of(GpuMistake mistake);

// How many places of the module the mistake can be made in.
int places(const ir::Module& module, GpuMistake mistake);
// The module with that mistake in that place, 0 <= place < places().
ir::Module mutated(const ir::Module& module, GpuMistake mistake, int place);

}  // namespace fettle::property
