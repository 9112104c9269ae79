// The command line of `fettle-bench tvm`.
#pragma once

#include "tests/bench/peers/tvm_bench.h"

namespace CLI {
class App;
}

namespace fettle::bench {

// The subcommand, which fills `options`; it outlives `app`'s parsing.
CLI::App* add_tvm_command(CLI::App& app, TvmBenchOptions& options);
// run_tvm_bench; Unsupported in a build without the benchmark of kernels, whose parts it uses.
Result<void> run_tvm_command(const TvmBenchOptions& options);

}  // namespace fettle::bench
