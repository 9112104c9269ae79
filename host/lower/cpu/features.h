// Features: what the cost model sees of a program, computed from its loops before
// they are unrolled. No back end is asked, nothing is compiled.
#pragma once

#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/sketches/sketches.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// The pass after which program_features reads a module: --dump-after's name.
extern const char* const kFeaturesAfter;

// As long as feature_names(), whatever the program. Counts and bytes are log2(1 + x)
// and cover the timed launches of one run; "hot" is the statement that computes most.
std::vector<float> program_features(const ir::Module& loops, const space::CpuTarget& target);
std::vector<std::string> feature_names();
// The place of a feature in the vector; it must be one of feature_names().
std::size_t feature_index(const std::string& name);

// Lowers as far as features need. BuildError: the configuration makes no program.
Result<std::vector<float>> features_of(const space::CpuSpace& task,
                                       const space::Configuration& configuration);

}  // namespace fettle::lower
