// Holding clocks still while the agent measures, and giving them back afterwards, also
// when the agent is killed: a guard process waits for its end. When the guard is killed,
// too, the next agent gives them back, or takes them over as they were found first
// (clock_store.h).
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "agent/platform/system_root.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// Pin to the highest clock that each domain's bounds allow, as found: nvpmodel's modes and
// an administrator's limits are such bounds, and stay in force.
inline constexpr std::uint32_t kHighestClock = std::numeric_limits<std::uint32_t>::max();

class PinnedClocks {
 public:
  PinnedClocks() = default;  // holds nothing
  // Sets lower and upper bound of the cores' cpufreq domains to `khz`, and of the
  // GPU's devfreq to its highest clock when khz is kHighestClock. What the system
  // refuses is said in `refused`, one line each, and is no error. A clock that the kernel
  // holds down against heat is waited for, `cool_ms` in all, and then left alone: its upper
  // bound reads as the heat's, and what it was before cannot be known. One that another
  // agent holds elsewhere is left alone, too. Call while the process has one thread: it
  // forks the guard. Io: no guard to be had, nothing changed.
  static Result<PinnedClocks> pin(const SystemRoot& root, const std::vector<std::uint32_t>& cores,
                                  std::uint32_t khz, std::vector<std::string>& refused,
                                  int cool_ms = 30'000);
  // Of agents that were killed together with their guards; names of those clocks.
  static std::vector<std::string> give_back_abandoned(const SystemRoot& root);
  PinnedClocks(PinnedClocks&& other) noexcept;
  PinnedClocks& operator=(PinnedClocks&& other) noexcept;
  ~PinnedClocks();                        // returns when the clocks are as they were
  pid_t guard() const { return guard_; }  // -1: nothing is held

 private:
  SystemRoot root_;
  int alive_ = -1;  // the guard reads its other end: closed, by whatever cause, it restores
  pid_t guard_ = -1;
};

}  // namespace fettle::agent
