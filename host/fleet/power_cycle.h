// Switching silent boards off and on: a command per board, from the broker's
// configuration, run when the broker has given the board up and it did not come back. A board whose
// agent was told to end, and said so to this very broker, is left alone: somebody may be at work on
// it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "host/fleet/peer.h"
#include "schemas/wire/result.h"

namespace fettle::fleet {

struct PowerCycleOptions {
  std::map<std::string, std::string> commands;  // by the board's name in the allow list
  // A board that is given up gets this long to come back by itself: it may be starting
  // anew, or its agent or a network switch may, and power cut then can spoil its card.
  milliseconds patience{120'000};
  // It gets this long before it is switched again, and so many tries.
  milliseconds again{120'000};
  int attempts = 3;
};

// "NAME=COMMAND"; InvalidArgument says what is wrong with it.
Result<void> add_power_cycle(PowerCycleOptions& options, const std::string& text);

// Decides when; `run` starts the command and does not wait for it.
class PowerCycle {
 public:
  using Run = std::function<void(const std::string& board, const std::string& command)>;
  PowerCycle(PowerCycleOptions options, Run run);

  void silent(const std::string& board, TimePoint now);  // given up just now
  void seen(const std::string& board);                   // registered
  void tick(TimePoint now);                              // switches what did not come back

 private:
  struct Waiting {
    TimePoint next;
    int tries = 0;
  };

  PowerCycleOptions options_;
  Run run_;
  std::map<std::string, Waiting> waiting_;
};

// `sh -c COMMAND` with FETTLE_BOARD set, in a process of its own that nobody waits for:
// false when it cannot be started.
bool run_detached(const std::string& board, const std::string& command);

}  // namespace fettle::fleet
