// A fleet from one seed: a real BrokerCore, real SessionCores and model agents over a simulated
// network, with faults. Nothing in it is real time, so that a seed plays the same way each time.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/simulation/broker_state.h"
#include "tests/simulation/network.h"
#include "tests/simulation/plan.h"

namespace fettle::fleet::simulation {

struct Report {
  bool boards_undisturbed = true;  // nothing befell a board, nor took the broker's memory
  std::string broken;              // "" or the first thing that must not be
  std::uint64_t steps = 0;         // events played; of the broken one
  std::uint64_t messages = 0;      // delivered
  std::uint64_t digest = 0;        // of what the broker was told and said, in order
  std::uint64_t submitted = 0, measured = 0, failed = 0, canceled = 0, sessions = 0, errors = 0;
  std::map<std::string, std::uint64_t> failures;
  std::array<std::uint64_t, kFaultKinds> faults{};
  milliseconds played{0}, calm_to_done{0};
  BrokerState most;
};

struct Options {
  std::uint64_t most_steps = 2'000'000;  // then it stops, and nothing is said of the end
  Network::Tamper tamper;
  bool trace = false;  // faults and results on standard output
};

Report simulate(const Plan& plan, const Options& options = {});

// A smaller plan that still breaks something, by leaving out faults and peers.
struct Shrunk {
  Plan plan;
  Report report;
  std::uint32_t tried = 0;
};
Shrunk shrink(const Plan& plan, const Options& options = {});

}  // namespace fettle::fleet::simulation
