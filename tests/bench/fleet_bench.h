// `fettle-bench fleet`: what the broker can do. The broker is the real program, in a process of its
// own; agents and clients are real CURVE connections on loopback, but the agents' devices are
// absent: they answer at once, or after --answer-ms. Told is how many results it passes a second at
// most, how long a lease's way takes at half of that, its memory before and after, and its CPU
// time.
#pragma once

#include <string>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct FleetBenchOptions {
  unsigned agents = 1000, clients = 50, threads = 2, queue_depth = 2;
  unsigned in_flight = 1000;  // trials of all clients, when as many as can be are asked for
  double rate = 0;            // results a second, nothing else; 0: first as many as can be, then
                              // half of that
  double answer_ms = 0;       // a board takes so long for a trial; then the same is simulated too
  double seconds = 20;        // of both together
  bool kills = false;         // each second 1 % of agents and clients die and come back
  std::string broker;         // the program; "": fettle, where this one lies
  bool json = false;
};

Result<void> run_fleet_bench(const FleetBenchOptions& options);

}  // namespace fettle::bench
