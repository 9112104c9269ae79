// Holding clocks still while the agent measures, and giving them back afterwards,
// also when the agent is killed: a guard process waits for its end.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "agent/platform/system_root.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Pin to the highest clock that each domain offers.
inline constexpr std::uint32_t kHighestClock = std::numeric_limits<std::uint32_t>::max();

class PinnedClocks {
 public:
  PinnedClocks() = default;  // holds nothing
  // Sets lower and upper bound of the cores' cpufreq domains to `khz`, and of the
  // GPU's devfreq to its highest clock when khz is kHighestClock. What the system
  // refuses is said in `refused`, one line each, and is no error. Call while the
  // process has one thread: it forks the guard. Io: no guard to be had, nothing changed.
  static Result<PinnedClocks> pin(const SystemRoot& root, const std::vector<std::uint32_t>& cores,
                                  std::uint32_t khz, std::vector<std::string>& refused);
  PinnedClocks(PinnedClocks&& other) noexcept;
  PinnedClocks& operator=(PinnedClocks&& other) noexcept;
  ~PinnedClocks();  // returns when the clocks are as they were

 private:
  int alive_ = -1;  // the guard reads its other end: closed, by whatever cause, it restores
  pid_t guard_ = -1;
};

}  // namespace fettle::agent
