// The conditions under which samples are taken: clocks, temperature, throttling, steal.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/platform/system_root.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

// What may change within a sample and spoil it.
struct QuickReading {
  std::uint32_t cpu_khz = 0;               // of the slowest of the device's cores; 0: unknown
  std::uint64_t involuntary_switches = 0;  // of this process, all threads
  std::uint64_t steal_ticks = 0;           // of the device's cores
  std::uint64_t throttle_events = 0;
  bool throttled = false;  // the kernel holds a CPU's clock down against heat, now
};

// Reads what every kernel offers, and what the board's profile names (board_sysfs.h).
// Opens everything at construction, so that it works inside the sandbox.
class ConditionsReader {
 public:
  ConditionsReader(const SystemRoot& root, std::vector<std::uint32_t> cores);
  QuickReading quick() const;
  wire::ConditionsT read() const;
  bool throttled() const;

 private:
  std::uint64_t steal_ticks() const;

  std::vector<std::uint32_t> cores_;
  OpenText governor_, stat_, load_, gpu_frequency_, logic_clock_, power_mode_;
  std::vector<OpenText> frequencies_;  // one per clock domain of the device's cores
  std::vector<OpenText> thermal_zones_, throttle_counters_, cooling_states_;
};

}  // namespace fettle::agent
