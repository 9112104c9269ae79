// `fettle-bench fleet --simulate`: what a lab would get of its boards, before it is there.
#pragma once

#include <string>
#include <vector>

#include "schemas/wire/result.h"
#include "tests/bench/planning/fleet_model.h"

namespace fettle::bench {

struct PlanningOptions {
  // KEY=NUMBER of FleetModel's numbers: boards, builders, sessions, depth, kernel-ms, build-ms,
  // session-ms, network-ms, message-us, core-us, seconds. Of boards several: 10/100/1000.
  std::vector<std::string> settings;
  bool json = false;
};

// InvalidArgument: no such setting, or no such number.
Result<void> run_planning_bench(const PlanningOptions& options);

struct FleetQuestion {
  FleetModel model;
  std::vector<unsigned> boards{10, 100, 1000};
  bool builders_given = false;
};
Result<FleetQuestion> parse_fleet_question(const std::vector<std::string>& settings);

// The fewest builders, to a sixty-fourth, that keep boards busy for that share of their time; 0:
// none do, as something else holds them back.
unsigned builders_needed(FleetModel model, double busy);
// The most boards, to a sixty-fourth, that one broker keeps busy for that share, with builders and
// sessions to spare.
unsigned boards_of_one_broker(FleetModel model, double busy);

}  // namespace fettle::bench
