// A load for a broker: many agents and clients as real CURVE connections, in threads of this
// process. The agents' devices are absent: an agent answers each assignment at once, or one after
// the other, each after a delay. The clients are real session cores.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/fleet/keys.h"
#include "tests/bench/latency_histogram.h"

namespace fettle::bench {

inline constexpr unsigned kMostInFlight = 100'000;  // trials of all clients at one time

struct FleetLoadPlan {
  std::string url, broker_key;
  std::vector<fleet::KeyPair> agent_keys;  // of each agent
  fleet::KeyPair client;                   // of all clients
  unsigned agents = 1000, clients = 50, threads = 2;
  unsigned queue_depth = 2;
  double answer_after_ms = 0;
};

struct FleetLoadCounts {
  std::uint64_t results = 0;   // measured
  std::uint64_t failures = 0;  // trials that ended otherwise
  std::uint64_t kills = 0;     // of agents and clients
  std::uint64_t errors = 0;    // sessions that ended by themselves
  unsigned agents_welcomed = 0, clients_opened = 0;
  LatencyHistogram to_assigned;   // from submit, at the client, to assign, at the agent
  LatencyHistogram to_completed;  // from done, at the agent, to completed, at the client
};

class FleetLoad {
 public:
  static Result<std::unique_ptr<FleetLoad>> start(const FleetLoadPlan& plan);
  ~FleetLoad();
  FleetLoad(const FleetLoad&) = delete;

  // How much all clients together ask for: at most so many trials (kMostInFlight) at one time, and
  // no more than so many a second (0: no bound). 0 trials: they let what they have end, and stop.
  void ask(unsigned in_flight, double per_second);
  // A share of the agents and of the clients dies and comes back, each second.
  void kill_each_second(double share);
  FleetLoadCounts counts() const;  // since the start
  void forget_latencies();         // what counts() tells of them begins anew

 private:
  struct Shared;
  class Thread;
  FleetLoad() = default;
  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace fettle::bench
