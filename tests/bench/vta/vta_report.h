// How `fettle-bench vta` tells its figures.
#pragma once

#include "fpga/config/design.h"
#include "tests/bench/vta/vta_bench.h"

namespace fettle::bench {

void print_json(const VtaFigures& layer);
// The summary's line of JSON; or the tables and the summary for people.
void report(const VtaBenchOptions& options, const vta::Design& design,
            const std::vector<VtaFigures>& layers);

}  // namespace fettle::bench
