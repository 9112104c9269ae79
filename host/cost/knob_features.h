// Features of a configuration without lowering it: the numbers behind its choices,
// as AutoTVM's knob features. They mean something within one space only.
#pragma once

#include <vector>

#include "host/space/search_space.h"

namespace fettle::cost {

// Each sketch has columns of its own, as long as its longest option of each knob;
// those of other sketches are NaN. The first column is the sketch.
std::size_t knob_feature_count(const space::SearchSpace& space);
std::vector<float> knob_features(const space::SearchSpace& space,
                                 const space::Configuration& configuration);

}  // namespace fettle::cost
