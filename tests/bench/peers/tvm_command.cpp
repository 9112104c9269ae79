// Options of the benchmark beside TVM (tvm_command.h).
#include "tests/bench/peers/tvm_command.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::App* add_tvm_command(CLI::App& app, TvmBenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "tvm",
      "TVM's meta_schedule from PyPI and fettle tune the same convolutions on this CPU, by turns: "
      "the best kernels of both, and trials per hour");
  command->add_flag("--json", options.json, "JSON lines");
  command->add_option("--network", options.network,
                      "a network's name, or a .json file of workloads; without it: three "
                      "convolutions of ResNet-18");
  command->add_option("--layers", options.layers,
                      "only layers whose title holds one of these texts");
  command->add_option("--trials", options.trials, "of each layer and tool")
      ->check(CLI::Range(1u, 100000u))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "of the kernels of both")
      ->check(CLI::Range(1u, 1024u))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "of both searches")->capture_default_str();
  command->add_option("--rounds", options.rounds, "turns of each kernel in the end")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command->add_option("--sample-ms", options.sample_ms, "about how long such a turn is")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command->add_option("--python", options.python,
                      "one that has TVM; without it: toolchains/tvm.sh takes it from PyPI");
  command->add_option("--keep", options.keep, "our database and logs stay in this folder");
  return command;
}

#ifdef FETTLE_BENCH_KERNELS
Result<void> run_tvm_command(const TvmBenchOptions& options) { return run_tvm_bench(options); }
#else
Result<void> run_tvm_command(const TvmBenchOptions&) {
  return Error{ErrorCode::Unsupported,
               "tvm: built without oneDNN and OpenBLAS, with whose benchmark it shares its parts: "
               "'./dev setup' installs them",
               {}};
}
#endif

}  // namespace fettle::bench
