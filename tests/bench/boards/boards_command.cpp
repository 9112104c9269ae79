// Options of the benchmark of many boards (boards_command.h).
#include "tests/bench/boards/boards_command.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::App* add_boards_command(CLI::App& app, BoardsBenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "boards",
      "simulated boards that this machine feeds: real agents whose kernels take a stated time but "
      "no CPU time; the busy share of each, and how many boards were all busy enough");
  command->add_flag("--json", options.json, "JSON lines");
  command->add_option("--boards", options.boards, "how many; several numbers: one after the other")
      ->delimiter(',')
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();
  command
      ->add_option("--kernel-ms", options.kernel_ms,
                   "what a kernel takes at least; at most a tenth more, by its program's hash")
      ->check(CLI::Range(0.1, 1000.0))
      ->capture_default_str();
  command
      ->add_option("--network", options.network, "a network's name, or a .json file of workloads")
      ->capture_default_str();
  command
      ->add_option("--trials", options.trials,
                   "of each board on average: a session has so many times the number of boards")
      ->check(CLI::Range(3u, 100000u))
      ->capture_default_str();
  command->add_option("--seed", options.seed, "of the search")->capture_default_str();
  command
      ->add_option("--gate", options.gate,
                   "busy enough is this share; status 1 where no number of boards gets there "
                   "(without it: 0.9, and no status)")
      ->check(CLI::Range(0.0, 1.0));
  return command;
}

}  // namespace fettle::bench
