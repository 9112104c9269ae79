// Footprints (footprint.h).
#include "host/lower/footprint.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fettle::lower {

Access make_access(const ir::Buffer& buffer, const ir::Expr& index, int lanes, bool store,
                   const ir::Movements& lets) {
  Access access{buffer, store, lanes, 1, ir::movement_of(index, lets), index->type.lanes > 1};
  if (const auto* ramp = std::get_if<ir::Ramp>(&index->node)) {
    access.lane_stride = std::fabs(static_cast<double>(ramp->stride));
    access.shuffled = false;
  }
  return access;
}

Footprint footprint(const Access& access, std::span<const LoopTrip> loops, double line_bytes) {
  // Steps through the buffer, smallest first; loops of one step width, such as x
  // and kw of a convolution, run over one another.
  std::map<double, double> trips;  // step in elements → values less one
  if (access.lanes > 1) trips[access.lane_stride] += access.lanes - 1;
  for (const LoopTrip& loop : loops) {
    const double step = access.movement.coefficient(loop.var);
    if (step != 0) trips[std::fabs(step)] += loop.extent - 1;
  }
  double run = 1, runs = 1;
  for (const auto& [step, more] : trips) {
    if (step <= run) {
      run += step * more;
    } else {
      runs *= more + 1;
    }
  }
  const double size = static_cast<double>(access.buffer->elements());
  const double element = access.buffer->type.bytes();
  run = std::min(run, size);
  runs = std::min(runs, size / run);
  Footprint result;
  result.bytes = run * runs * element;
  result.run_bytes = run * element;
  result.lines = runs * std::max(1.0, run * element / line_bytes);
  return result;
}

}  // namespace fettle::lower
