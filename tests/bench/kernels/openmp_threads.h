// The OpenMP threads that the peers' libraries run on: as many as ours, on the
// same cores.
#pragma once

#include <cstdint>
#include <vector>

namespace fettle::bench {

// One thread a core, thread i pinned to cores[i]; thread 0 is the caller. Call it
// before the peers are made. How many threads there really are.
unsigned pin_openmp_threads(const std::vector<std::uint32_t>& cores);

}  // namespace fettle::bench
