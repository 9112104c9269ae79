// A device that an agent on this very machine can be, for sessions without a broker.
#pragma once

#include <string>
#include <vector>

namespace fettle::backend {

struct LocalDevice {
  std::string key;                         // of --device: "local"
  std::vector<std::string> agent_options;  // of fettle-agent, beside those of any device
  // It is cores of this machine, or may be: they are named to the agent, and the others are ours.
  bool takes_cores = false;
};

}  // namespace fettle::backend
