// The command line of `fettle-bench model`.
#pragma once

#include "tests/bench/model/model_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommand, which fills `options`; it outlives `app`'s parsing.
CLI::App* add_model_command(CLI::App& app, ModelBenchOptions& options);

}  // namespace fettle::bench
