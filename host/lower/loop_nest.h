// LoopNests: the statements of a function, each with the loops around it, what it
// accesses and what it computes. How features see a program.
#pragma once

#include <vector>

#include "host/ir/module.h"
#include "host/lower/footprint.h"

namespace fettle::lower {

// One store. Branches count as often as they are taken (branch_share.h); of two that nothing is
// known of each half the time, and one that stands alone always.
struct LoopNest {
  std::vector<LoopTrip> loops;   // outermost first, the parallel one included
  double times = 1;              // executions in one run, less those that unrolling finds idle
  std::vector<Access> accesses;  // of memory, and `register_accesses` of register tiles
  std::vector<bool> broadcast;   // per access: one element for all lanes
  double register_accesses = 0;
  double masked_loads = 0;       // whose condition has to be asked for each of them
  double operations = 0;         // of every class, of one execution
  double vector_operations = 0;  // instructions for them
  bool tile_call = false;        // an instruction of several threads (ir::TileCall)
  int lanes = 1;
  ir::Movement stored;  // index of the store
};

struct LoopNests {
  std::vector<LoopNest> nests;
  double register_bytes = 0;  // of the largest register tile
  double branches = 0;        // executed in one run
  double barriers = 0;        // met by all threads together in one run
};

// Of a function whose storage is flat, before unroll: loops to be unrolled still stand, and before
// vectorise those to be vectorised.
LoopNests loop_nests(const ir::Function& function);

}  // namespace fettle::lower
