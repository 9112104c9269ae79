// The command line of `fettle-bench fleet --simulate`.
#pragma once

#include "tests/bench/planning/planning_bench.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace fettle::bench {

// The option, which fills `options`; they outlive the parsing. It excludes all others but --json.
CLI::Option* add_simulate_option(CLI::App& fleet, PlanningOptions& options);

}  // namespace fettle::bench
