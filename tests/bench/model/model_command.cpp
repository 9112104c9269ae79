// Options (model_command.h).
#include "tests/bench/model/model_command.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::App* add_model_command(CLI::App& app, ModelBenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "model",
      "the model of times that plans are made by, on recorded trials: trained on some of a task, "
      "how well it chooses among the others; and what training it costs");
  command->add_flag("--json", options.json, "JSON lines");
  command->add_option("--db", options.databases, "the records")->required();
  command->add_option("--trials", options.trials, "of the task, that it is trained on")
      ->delimiter(',')
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  command
      ->add_option("--others", options.others,
                   "tasks beside it, at most, of each as many trials; 0: none")
      ->capture_default_str();
  command->add_option("--seeds", options.seeds, "draws of these trials for each task")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  return command;
}

}  // namespace fettle::bench
