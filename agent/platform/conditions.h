// The conditions under which samples are taken: clocks, temperature, throttling, steal.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "agent/platform/driver_reading.h"
#include "agent/platform/system_root.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

// What is read before and after every sample: what may change within one and spoil it, and
// what may change between two and make them measurements of different things.
struct QuickReading {
  std::uint32_t cpu_khz = 0;  // of the slowest of the cores that are used; 0: unknown
  std::uint32_t gpu_khz = 0, accelerator_khz = 0;
  std::int32_t temperature_millidegrees = 0;  // of the hottest zone that measures
  // Hash of what people and their tools set: governor, power mode, accelerator's clock.
  std::uint64_t settings = 0;
  std::uint64_t involuntary_switches = 0;  // of this process, all threads
  std::uint64_t steal_ticks = 0;           // of the device's cores
  std::uint64_t throttle_events = 0;
  bool throttled = false;  // the kernel holds a CPU's clock down against heat, now
};

// Reads what every kernel offers, and what the board's profile names (board_sysfs.h).
// Opens everything at construction, so that it works inside the sandbox. `driver`: what the
// device's own driver adds; may be empty.
class ConditionsReader {
 public:
  ConditionsReader(const SystemRoot& root, std::vector<std::uint32_t> cores,
                   std::function<DriverReading()> driver = {});
  // The clock is that of the first `threads` cores: an idle core's moves as it likes.
  QuickReading quick(std::uint32_t threads = 0xffff'ffff) const;
  wire::ConditionsT read() const;
  bool throttled() const;

 private:
  std::uint64_t steal_ticks() const;
  std::int32_t temperature() const;

  std::vector<std::uint32_t> cores_;
  std::function<DriverReading()> driver_;
  OpenText governor_, stat_, load_, gpu_frequency_, logic_clock_, power_mode_;
  struct Frequency {
    std::size_t first_core;  // its place among cores_
    OpenText file;
  };
  std::vector<Frequency> frequencies_;  // one per clock domain of the device's cores
  std::vector<OpenText> thermal_zones_, throttle_counters_, cooling_states_;
};

}  // namespace fettle::agent
