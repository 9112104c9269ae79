// The first plan of a task: what is tried before there is a model of its times. Spread out,
// over what an estimate of the program's time finds promising where there is one.
#pragma once

#include <random>
#include <vector>

#include "host/tune/knowledge.h"
#include "host/tune/lowered_features.h"
#include "host/tune/tried.h"

namespace fettle::tune {

// So many trials are made of it before a model is trained.
std::size_t first_trials(const SearcherOptions& options);

// Up to n configurations never seen, in the order they should be tried; they are noted in
// knowledge.unseen. Fewer when the space is exhausted. `tried`: where there is an estimate,
// programs that look like one of these are left out.
std::vector<space::Configuration> first_plan(const space::SearchSpace& space,
                                             const SearcherOptions& options,
                                             LoweredFeatures& lowered, const Tried& tried,
                                             Knowledge& knowledge, std::size_t n,
                                             std::mt19937_64& rng);

}  // namespace fettle::tune
