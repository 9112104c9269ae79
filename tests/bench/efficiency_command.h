// The command line of `fettle-bench efficiency`.
#pragma once

#include "tests/bench/efficiency_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommand, which fills `options`; it outlives `app`'s parsing.
CLI::App* add_efficiency_command(CLI::App& app, EfficiencyBenchOptions& options);

}  // namespace fettle::bench
