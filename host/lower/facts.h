// Facts of a lowered program: what the roofline reads.
#pragma once

#include "host/ir/module.h"

namespace fettle::lower {

struct ProgramFacts {
  // Of the timed launches, per run: never more than are executed, and as many where conditions
  // are decided by loop variables. TileCalls are left out: they are another unit's, for which no
  // ceiling is calibrated.
  double operations = 0;          // floating-point
  double integer_operations = 0;  // on values; indices and conditions are left out
  double scratch_bytes = 0;       // of all scratch buffers
};

ProgramFacts program_facts(const ir::Module& module);

}  // namespace fettle::lower
