// Small hand-made modules, one per group of IR nodes, for the back end's tests.
#pragma once

#include <string>
#include <vector>

#include "host/ir/module.h"

namespace fettle::testing {

struct Case {
  std::string name;
  ir::Module module;
  bool fused = false;  // holds multiply-adds: compared within rounding, not bit by bit
};

// Every function reads seeded inputs and writes its outputs completely.
std::vector<Case> backend_cases();

}  // namespace fettle::testing
