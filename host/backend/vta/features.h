// The cost model's view of a program, counted in its instructions; and what is not worth building.
#pragma once

#include <string>
#include <vector>

#include "host/backend/vta/bound.h"
#include "host/backend/vta/generate.h"

namespace fettle::vta::host {

std::vector<std::string> feature_names();
std::vector<float> features_of(const Design& design, const Generated& program);
// Null: it may be worth building.
const char* screened(std::span<const float> features, const Bound& bound);

}  // namespace fettle::vta::host
