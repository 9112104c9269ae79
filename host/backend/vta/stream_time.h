// When each instruction of a finished stream is at work, by the simulator's estimate.
#pragma once

#include <array>
#include <utility>

#include "fpga/sim/simulator.h"
#include "host/backend/vta/stream.h"

namespace fettle::vta::host {

struct StreamTime {
  SimulatedRun run;
  std::vector<Span> spans;  // by their start
  // Of each unit: cycles [first, second) in which it is at work, ascending, apart.
  std::array<std::vector<std::pair<std::uint64_t, std::uint64_t>>, kUnits> busy;

  std::uint64_t busy_cycles(Unit unit) const;
};

// It does not depend on data: memory holds the stream's constants and zeros. RunTimeout: it does
// not end.
Result<StreamTime> time_of(const Design& design, const Stream& stream);

}  // namespace fettle::vta::host
