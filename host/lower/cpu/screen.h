// Screen: programs that are not worth building, told from their features alone. Only
// what no board can make good; everything else is the cost model's to judge.
#pragma once

#include <span>

#include "host/space/cpu_target.h"

namespace fettle::lower {

// Why not, in a few words; null: it may be good. `features` as program_features.
const char* screen(std::span<const float> features, const space::CpuTarget& target);

}  // namespace fettle::lower
