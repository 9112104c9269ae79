// `fettle-bench agent`: what the agent costs a board. For each architecture under
// build/agents: is it static, how large; for this machine's own: idle memory, and
// the time from its start until the broker has it.
#pragma once

#include <string>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct AgentBenchOptions {
  std::string agents;         // folder with ARCH/fettle-agent; empty: beside this program
  unsigned starts = 7;        // of which the median is told
  unsigned settle_ms = 1500;  // after registration, before memory is read
  bool json = false;
};

// Prints; an Error when a figure could not be had.
Result<void> run_agent_bench(const AgentBenchOptions& options);

}  // namespace fettle::bench
