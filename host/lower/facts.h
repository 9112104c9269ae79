// Facts of a lowered program: what the roofline reads.
#pragma once

#include "host/ir/module.h"

namespace fettle::lower {

struct ProgramFacts {
  double operations = 0;     // floating-point operations of the timed launches, per run: never
                             // more than are executed, and as many where conditions are
                             // decided by loop variables
  double scratch_bytes = 0;  // of all scratch buffers
};

ProgramFacts program_facts(const ir::Module& module);

}  // namespace fettle::lower
