// The conditions under which samples are taken: clocks, temperature, throttling, steal.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/platform/system_root.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

// What may change within a sample and spoil it.
struct QuickReading {
  std::uint32_t cpu_khz = 0;               // 0: unknown
  std::uint64_t involuntary_switches = 0;  // of this process, all threads
  std::uint64_t steal_ticks = 0;           // of the device's cores
  std::uint64_t throttle_events = 0;
};

// Opens everything at construction, so that it works inside the sandbox.
class ConditionsReader {
 public:
  ConditionsReader(const SystemRoot& root, std::vector<std::uint32_t> cores);
  QuickReading quick() const;
  wire::ConditionsT read() const;

 private:
  std::uint64_t steal_ticks() const;

  std::vector<std::uint32_t> cores_;
  OpenText frequency_, governor_, stat_, load_;
  std::vector<OpenText> thermal_zones_, throttle_counters_;
};

}  // namespace fettle::agent
