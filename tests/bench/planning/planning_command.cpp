// The option (planning_command.h).
#include "tests/bench/planning/planning_command.h"

#include <CLI/CLI.hpp>

namespace fettle::bench {

CLI::Option* add_simulate_option(CLI::App& fleet, PlanningOptions& options) {
  const std::vector<CLI::Option*> others = fleet.get_options();
  CLI::Option* option =
      fleet
          .add_option(
              "--simulate", options.settings,
              "nothing is run: a fleet in simulated time, by the broker's own core, such as "
              "boards=1000,builders=200; also sessions, depth, kernel-ms, build-ms, "
              "session-ms, network-ms, message-us, core-us, seconds; without boards: "
              "boards=10/100/1000")
          ->delimiter(',')
          ->expected(0, 64);
  for (CLI::Option* other : others) {
    if (other->check_lname("json") || other->check_lname("help")) continue;
    option->excludes(other);
  }
  return option;
}

}  // namespace fettle::bench
