// The command line of `fettle-bench networks`.
#pragma once

#include "tests/bench/networks/network_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommand, which fills `options`; it outlives `app`'s parsing.
CLI::App* add_networks_command(CLI::App& app, NetworkBenchOptions& options);

}  // namespace fettle::bench
