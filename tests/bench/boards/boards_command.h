// The command line of `fettle-bench boards`.
#pragma once

#include "tests/bench/boards/boards_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommand, which fills `options`; it outlives `app`'s parsing.
CLI::App* add_boards_command(CLI::App& app, BoardsBenchOptions& options);

}  // namespace fettle::bench
