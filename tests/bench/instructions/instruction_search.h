// A tuning session whose board is the instruction counter: for layers that no board
// and no database has measured.
#pragma once

#include "host/space/cpu_target.h"
#include "host/space/search_space.h"
#include "tests/bench/instructions/counted_run.h"

namespace fettle::bench {

struct FewestInstructions {
  space::Configuration configuration;
  CountedRun run;
};

// The best of `candidates` proposals of the evolutionary searcher, which is told
// counts as if they were nanoseconds. Those that are not built or compute something
// else count as failed. NotFound: all failed.
Result<FewestInstructions> search_fewest(const Layer& layer, const space::CpuTarget& target,
                                         unsigned candidates, std::uint64_t seed);

}  // namespace fettle::bench
