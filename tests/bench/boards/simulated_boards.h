// Agents of simulated boards, as processes of a benchmark (simulated_device.h).
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "host/tune/pipeline.h"
#include "tests/bench/broker_process.h"

namespace fettle::bench {

inline constexpr const char* kSimulatedKey = "simulated";  // the key of their device

class SimulatedBoards {
 public:
  // One for each key of broker.agents(): boards of their own to the broker, with one core, which
  // take turns on this machine's. Keys and logs go to `folder`; both outlive the boards. Returns
  // when the broker has all of them; Canceled: `stop` was requested.
  static Result<std::unique_ptr<SimulatedBoards>> start(const BrokerProcess& broker,
                                                        const std::filesystem::path& folder,
                                                        double run_ms,
                                                        const tune::StopSignal& stop);
  ~SimulatedBoards();  // SIGTERM, then SIGKILL after two seconds; all at once
  SimulatedBoards(const SimulatedBoards&) = delete;

  // Crash: one of them has ended, with the last that it said.
  Result<void> check_alive() const;
  double cpu_seconds() const;  // so far, of all

 private:
  struct Board {
    pid_t pid;
    std::filesystem::path log;
  };
  SimulatedBoards() = default;
  std::vector<Board> boards_;
};

}  // namespace fettle::bench
