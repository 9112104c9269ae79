// Facts of a lowered program: what the roofline reads.
#pragma once

#include "host/ir/module.h"

namespace fettle::lower {

struct ProgramFacts {
  double operations = 0;        // floating-point operations of the timed launches, per run,
                                // those that are certain: a lower bound
  double compulsory_bytes = 0;  // inputs, constants and outputs that they touch, each once
  double scratch_bytes = 0;     // of all scratch buffers
};

ProgramFacts program_facts(const ir::Module& module);

}  // namespace fettle::lower
