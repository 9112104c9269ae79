// What a CPU needs to run a network's code.
#pragma once

#include <string>
#include <vector>

#include "host/model/pieces/bindings.h"
#include "host/space/target.h"

namespace fettle::network {

// What the code may use, by LLVM's names; none where the target is no CPU.
std::vector<std::string> cpu_features(const space::Target& target, const model::Bindings& bindings);

}  // namespace fettle::network
