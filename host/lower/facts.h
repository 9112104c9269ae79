// Facts of a lowered program: what the roofline and the cost model read.
#pragma once

#include <vector>

#include "host/ir/module.h"

namespace fettle::lower {

struct ProgramFacts {
  double operations = 0;        // floating-point operations of the timed launches, per run,
                                // those that are certain: a lower bound
  double compulsory_bytes = 0;  // inputs, constants and outputs that they touch, each once
  double scratch_bytes = 0;     // of all scratch buffers
  std::vector<float> features;  // the cost model's vector: see feature_names()
};

ProgramFacts program_facts(const ir::Module& module);
std::vector<std::string> feature_names();

}  // namespace fettle::lower
