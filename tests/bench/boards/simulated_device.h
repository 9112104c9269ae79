// A simulated board's CPU: the agent's own, whose timed runs take no CPU time of this machine.
//
// A program is loaded and its outputs are checked as on any CPU, and the runs that these checks are
// of are really made: the first one, and that over poisoned outputs. Every run lasts as long as the
// board's kernels do: the rest of these two, and all others, are slept.
//
// What a run takes follows from the content hash of the program's images alone: --run-ms, and up
// to a tenth more. The ticks told are exactly that, whatever the sleep really took.
#pragma once

#include "agent/device/registry.h"

namespace fettle::bench {

inline constexpr double kUsualRunMs = 5, kRunSpread = 0.1;

// The row of the kind Cpu, with the options of the agent's own and --run-ms. Its devices are
// `emulated`: they never share a pool with a real one.
const agent::DeviceRow& simulated_device_row();

}  // namespace fettle::bench
