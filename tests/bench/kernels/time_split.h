// Where the time of one of our kernels goes: what it would take at the machine's peak,
// what its hot loop's instructions cost more, its other launches, and the rest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "agent/device/device.h"
#include "host/records/record.h"
#include "host/space/cpu_target.h"
#include "tests/bench/kernels/layer.h"

namespace fettle::bench {

// A loop's instructions, counted in the machine code, and LLVM's static estimate of it.
struct LoopFigures {
  int instructions = 0, multiply_adds = 0, loads = 0, stores = 0, stack_accesses = 0;
  double cycles = 0;  // estimated, per iteration; 0: LLVM models this CPU or loop not
  std::string model;  // the CPU that was modelled
  double per_cycle() const { return cycles > 0 ? multiply_adds / cycles : 0; }
};

// What this machine's multiply-add units reach, with everything in registers.
struct Peak {
  double gflops = 0;  // measured, all threads together
  LoopFigures loop;   // of the program that reached it
};
Result<Peak> measure_peak(agent::Device& device, const space::CpuTarget& target);

struct LaunchTime {
  std::string name;
  double nanoseconds = 0;  // of a run among the others, the least of some samples
};

struct TimeSplit {
  double operations = 0;             // floating point, that the kernel certainly executes in a run
  LoopFigures loop;                  // the loop with the largest share of multiply-adds
  std::vector<LaunchTime> launches;  // in the order they run

  // Shares of the launches' time, together 1: at the peak, lost in the hot loop as its
  // static estimate says, spent in launches other than the longest, and the rest, which
  // is caches, memory, borders, starts of loops and of threads. No share is negative.
  double at_peak = 0, hot_loop = 0, other_launches = 0, rest = 0;
};

// Fills the four shares from all else.
void split_time(TimeSplit& split, const Peak& peak);

// Rebuilds the record and has the device time its launches, while it holds nothing else.
Result<TimeSplit> measure_time_split(agent::Device& device, const Layer& layer,
                                     const records::TuningRecord& record, unsigned threads,
                                     const Peak& peak);

nlohmann::json to_json(const TimeSplit& split);

// Whether the kernel lets this process count cycles and instructions, in words: what the
// rest consists of cannot be told without.
std::string hardware_counters();

}  // namespace fettle::bench
