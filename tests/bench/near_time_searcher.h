// A searcher for benchmarks: proposes configurations whose kernels run about a
// given time, not the fastest ones. Random ones at first, then neighbours of
// those that came nearest; no program twice, as a session's searchers see to it.
#pragma once

#include <memory>

#include "host/tune/searcher.h"

namespace fettle::bench {

// The space, and what `features` refers to, must outlive the searcher. Configurations of equal
// features most likely make one program: only the first of them is proposed.
std::unique_ptr<tune::Searcher> make_near_time_searcher(const space::SearchSpace& space,
                                                        tune::FeatureFunction features,
                                                        double nanoseconds, std::uint64_t seed);

}  // namespace fettle::bench
