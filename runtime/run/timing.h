// Timing a loaded network: warm-up, samples of one run each, and under which conditions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/loaded_network.h"

namespace fettle::run {

// Of clocks whose ticks are no time it is known how many they are, no more.
inline constexpr const char* kMilliseconds = "ms";

struct Timing {
  std::vector<double> runs;  // ascending
  std::string unit =
      kMilliseconds;          // or what ticks of a clock are called that is no time: "cycles"
  std::string governor;       // "": the system does not say
  std::uint32_t cpu_khz = 0;  // of the slowest core that is used; 0: unknown
  int temperature_millidegrees = 0;                         // 0: unknown
  std::uint64_t involuntary_switches = 0, steal_ticks = 0;  // while it was timed
  // Of a board's agent: runs that something disturbed, taken again; and of `runs`, those that count
  // all the same, as too few others could be had.
  std::uint32_t disturbed = 0, borrowed = 0;

  double quantile(double part) const;  // 0.5: the median
};

// At least `least_ms` and ten runs; exactly `runs` where that is not 0. Before them runs that are
// not counted, for a fifth of a second or two runs.
Result<Timing> time_runs(runtime::LoadedNetwork& network, const std::vector<std::uint32_t>& cores,
                         std::uint32_t runs, double least_ms = 1000);

struct LayerTime {
  double amount = 0;
  std::string unit = kMilliseconds;  // as Timing's
};

// Of each layer the median of ten runs or more that are timed launch by launch. In cycles where an
// accelerator runs it.
Result<std::vector<LayerTime>> time_layers(runtime::LoadedNetwork& network);

}  // namespace fettle::run
