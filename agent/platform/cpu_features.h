// Instruction-set features of the running CPU by LLVM's names.
#pragma once

#include "schemas/device_generated.h"

namespace fettle::agent {

// Sets features and vector_bits of facts; reads facts.cpu (and sets it on x86 when empty).
void read_native_features(wire::CpuFactsT& facts);

}  // namespace fettle::agent
