// Instruction-set features of the running CPU by LLVM's names.
#pragma once

#include <optional>
#include <string>

#include "schemas/device_generated.h"

namespace fettle::agent {

// Sets features and vector_bits of facts; reads facts.cpu (and sets it on x86 when empty).
void read_native_features(wire::CpuFactsT& facts);

// Whether this CPU, of which those are the facts, has a feature, also one that they do not list;
// empty: that cannot be told.
std::optional<bool> has_feature(const wire::CpuFactsT& facts, const std::string& feature);

}  // namespace fettle::agent
