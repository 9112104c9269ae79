// What is known of each clock domain: one table for host and agent.
//
//   Nanoseconds        a wall clock, ticks_per_second 1e9
//   AcceleratorCycles  a device's own cycles, of a rate that the measurement states
//   Instructions       executed instructions (emulation): no rate, so never a time
#pragma once

#include <iterator>
#include <optional>

#include "schemas/device_generated.h"

namespace fettle {

struct ClockFacts {
  wire::ClockDomain domain;
  const char* unit;    // of one tick, in the plural
  bool wall_time;      // results are times, comparable with those of other clocks
  bool has_rate;       // ticks last equally long: where the rate is known they tell a duration
  bool deterministic;  // the same program takes equally many: more samples know no better
};

inline constexpr ClockFacts kClocks[] = {
    {wire::ClockDomain::Nanoseconds, "nanoseconds", true, true, false},
    {wire::ClockDomain::Instructions, "instructions", false, false, true},
    {wire::ClockDomain::AcceleratorCycles, "cycles", false, true, false},
};
static_assert(std::size(kClocks) == static_cast<std::size_t>(wire::ClockDomain::MAX) + 1);

// Of a later version's domain nothing is known.
inline constexpr ClockFacts kUnknownClock{wire::ClockDomain::MAX, "ticks", false, false, false};

constexpr const ClockFacts& clock_facts(wire::ClockDomain domain) {
  return domain > wire::ClockDomain::MAX ? kUnknownClock
                                         : kClocks[static_cast<std::size_t>(domain)];
}

// Real seconds in one of an agent's that counts instructions, at most: an emulator executes
// this much less than the billion instructions a second by which icount counts its seconds.
inline constexpr std::uint64_t kInstructionClockLag = 20;

// How long they lasted; nothing where that is not known.
constexpr std::optional<double> ticks_to_nanoseconds(double ticks, wire::ClockDomain domain,
                                                     double ticks_per_second) {
  if (!clock_facts(domain).has_rate || !(ticks_per_second > 0)) return std::nullopt;
  return ticks * 1e9 / ticks_per_second;
}

}  // namespace fettle
