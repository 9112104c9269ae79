// The searchers by name; searcher_registry.cpp lists them.
#pragma once

#include <memory>

#include "host/tune/searcher.h"

namespace fettle::tune {

std::unique_ptr<Searcher> make_random(const space::SearchSpace& space,
                                      const SearcherOptions& options);
std::unique_ptr<Searcher> make_grid(const space::SearchSpace& space,
                                    const SearcherOptions& options);
std::unique_ptr<Searcher> make_ga(const space::SearchSpace& space, const SearcherOptions& options);
std::unique_ptr<Searcher> make_xgb_knob(const space::SearchSpace& space,
                                        const SearcherOptions& options);
// Needs SearcherOptions::itervar_features.
std::unique_ptr<Searcher> make_xgb_itervar(const space::SearchSpace& space,
                                           const SearcherOptions& options);
std::unique_ptr<Searcher> make_evolutionary(const space::SearchSpace& space,
                                            const SearcherOptions& options);

}  // namespace fettle::tune
