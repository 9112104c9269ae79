// This machine's own CPU as a CpuTarget, by LLVM's detection.
#pragma once

#include "host/space/cpu_target.h"

namespace fettle::backend::cpu_llvm {

// For tests and tools that run code in process. A board says what it is itself:
// space::target_for(). Cache sizes come from the C library; threads is 1.
space::CpuTarget host_target();

}  // namespace fettle::backend::cpu_llvm
