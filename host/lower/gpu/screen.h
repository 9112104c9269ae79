// Screen: GPU programs that are not worth building, told from their features alone. Only what no
// device can make good; everything else is the cost model's to judge.
#pragma once

#include <span>

#include "host/space/gpu_target.h"

namespace fettle::lower {

// Why not, in a few words; null: it may be good. `features` as gpu_features.
const char* gpu_screen(std::span<const float> features, const space::GpuTarget& target);

}  // namespace fettle::lower
