// Features of a GPU's programs: what the cost model sees, computed from loops before they are
// unrolled. No back end is asked, nothing is compiled.
#pragma once

#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/sketches/gpu_sketches.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// The pass after which gpu_features reads a module.
extern const char* const kGpuFeaturesAfter;

// As long as gpu_feature_names(), whatever the program. Counts and bytes are log2(1 + x) and
// cover the timed launches of one run; "hot" is the launch that computes most.
std::vector<float> gpu_features(const ir::Module& loops, const space::GpuTarget& target);
std::vector<std::string> gpu_feature_names();
// The place of a feature in the vector; it must be one of gpu_feature_names().
std::size_t gpu_feature_index(const std::string& name);

// Lowers as far as features need. BuildError: the configuration makes no program.
Result<std::vector<float>> gpu_features_of(const space::GpuSpace& task,
                                           const space::Configuration& configuration);

}  // namespace fettle::lower
