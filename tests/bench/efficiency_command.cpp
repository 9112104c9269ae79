// The options of `fettle-bench efficiency` (efficiency_command.h).
#include "tests/bench/efficiency_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "host/tune/searcher.h"

namespace fettle::bench {
namespace {

// "200": of all; "ga=200": of one.
void take_trials(EfficiencyBenchOptions& options, const std::string& given) {
  const std::size_t equals = given.find('=');
  unsigned trials = 0;
  if (!CLI::detail::lexical_cast(given.substr(equals == std::string::npos ? 0 : equals + 1),
                                 trials) ||
      trials < 1 || trials > 1000000) {
    throw CLI::ValidationError("--trials", "'" + given + "' is no number from 1 to 1000000");
  }
  if (equals == std::string::npos) {
    options.trials = trials;
    return;
  }
  const std::string name = tune::current_searcher_name(given.substr(0, equals));
  const auto known = efficiency_searchers();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    throw CLI::ValidationError("--trials", "there is no searcher '" + name + "'");
  }
  options.trials_of[name] = trials;
}

}  // namespace

CLI::App* add_efficiency_command(CLI::App& app, EfficiencyBenchOptions& options) {
  CLI::App* command = app.add_subcommand(
      "efficiency",
      "convolutions tuned by each searcher on this machine: trials to 95 % of the best known; run "
      "again, it goes on");
  command->add_flag("--json", options.json, "JSON lines");
  command->add_option("--db", options.db, "where trials are kept")->capture_default_str();
  command
      ->add_option("--network", options.network, "a network's name, or a .json file of workloads")
      ->capture_default_str();
  command->add_option("--layers", options.layers, "its first so many convolutions")
      ->check(CLI::Range(1u, 10000u))
      ->capture_default_str();
  command->add_option("--searcher", options.searchers, "only these")
      ->transform(tune::current_searcher_name)
      ->check(CLI::IsMember(efficiency_searchers()));
  command
      ->add_option_function<std::vector<std::string>>(
          "--trials",
          [&options](const std::vector<std::string>& given) {
            for (const std::string& each : given) take_trials(options, each);
          },
          "of each layer, searcher and seed, also of single searchers: 200 evolutionary=64")
      ->type_name("NUMBER|SEARCHER=NUMBER")
      ->default_str(std::to_string(options.trials));
  command->add_option("--seeds", options.seeds, "runs of each searcher on each layer")
      ->check(CLI::Range(1u, 1000u))
      ->capture_default_str();
  command->add_option("--seed", options.first_seed, "the first of them")->capture_default_str();
  command->add_option("--seconds", options.seconds, "stops after so long; 0: when all are there")
      ->capture_default_str();
  return command;
}

}  // namespace fettle::bench
