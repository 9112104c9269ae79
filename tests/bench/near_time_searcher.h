// A searcher for benchmarks: proposes configurations whose kernels run about a
// given time, not the fastest ones. Random ones at first, then neighbours of
// those that came nearest.
#pragma once

#include <memory>

#include "host/tune/searcher.h"

namespace fettle::bench {

// The space must outlive the searcher.
std::unique_ptr<tune::Searcher> make_near_time_searcher(const space::SearchSpace& space,
                                                        double nanoseconds, std::uint64_t seed);

}  // namespace fettle::bench
