// The command line of `fettle-bench prior`.
#pragma once

#include "tests/bench/prior_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommand, which fills `options`; it outlives `app`'s parsing.
CLI::App* add_prior_command(CLI::App& app, PriorBenchOptions& options);

}  // namespace fettle::bench
