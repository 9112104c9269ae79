// The command line of `fettle-bench prior` (prior_command.h).
#include "tests/bench/prior_command.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::App* add_prior_command(CLI::App& app, PriorBenchOptions& options) {
  CLI::App* command =
      app.add_subcommand("prior", "trains the prior that fettle ships from records, and judges it");
  command->add_flag("--json", options.json, "JSON lines");
  command->add_option("--db", options.databases, "the records that it learns from")->required();
  command->add_option("--recording", options.recordings,
                      "to judge by; without any: tests/data/recordings of the source tree");
  CLI::Option* earlier =
      command
          ->add_option(
              "--earlier", options.earlier,
              "a prior of another machine: what it says of the same programs is learned too")
          ->check(CLI::ExistingFile);
  command->add_option("--samples", options.samples,
                      "a file to write: every trial's time and features, in columns");
  CLI::Option* output =
      command->add_option("-o,--output", options.output, "host/cost/priors/ARCH.prior");
  command
      ->add_option("--judge", options.judge,
                   "judges this prior by the records, and trains none: "
                   "how well does it know this machine?")
      ->check(CLI::ExistingFile)
      ->excludes(earlier)
      ->excludes(output);
  return command;
}

}  // namespace fettle::bench
