// One sample with the readings around it, and what disturbed it (sampler.h says what that is).
#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/platform/conditions.h"
#include "schemas/measure_generated.h"

namespace fettle::agent {

struct Taken {
  wire::Sample sample;
  QuickReading before, after;
  double per_run = 0;
  std::uint64_t events = 0;  // disturbances while it ran; 0: clean
  bool throttled() const {
    return before.throttled || after.throttled || after.throttle_events > before.throttle_events;
  }
};

inline bool clock_moved(const QuickReading& a, const QuickReading& b) {
  const auto [low, high] = std::minmax(a.cpu_khz, b.cpu_khz);
  return low > 0 && high - low > low / 10;
}

inline std::uint64_t disturbances(const QuickReading& before, const QuickReading& after) {
  std::uint64_t events = after.involuntary_switches - before.involuntary_switches;
  events += after.steal_ticks - before.steal_ticks;
  events += after.throttle_events - before.throttle_events;
  if (clock_moved(before, after)) ++events;
  if (before.throttled || after.throttled) ++events;
  return events;
}

}  // namespace fettle::agent
