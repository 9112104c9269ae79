// NestFootprint (nest_footprint.h).
#include "host/lower/cpu/nest_footprint.h"

#include <algorithm>
#include <map>

namespace fettle::lower {

double cache_bytes(const space::CpuTarget& target, int level) {
  double bytes = 32768;
  for (const space::CacheLevel& cache : target.caches) {
    if (cache.level <= level) bytes = double(cache.bytes);
  }
  return bytes;
}

double cache_line_bytes(const space::CpuTarget& target) {
  return target.caches.empty() ? 64 : std::max(16, target.caches.front().line_bytes);
}

std::size_t body_of(const LoopNest& nest) {
  std::size_t body = nest.loops.size();
  while (body > 0 && nest.loops[body - 1].kind == ir::ForKind::Unrolled) --body;
  return body;
}

NestFootprint::NestFootprint(LoopNest of, double line)
    : nest(std::move(of)), line_bytes(line), body(body_of(nest)) {
  for (std::size_t depth = 0; depth <= nest.loops.size(); ++depth) {
    footprint.push_back(lines(depth) * line_bytes);
  }
}

double NestFootprint::trips(std::size_t from, std::size_t to) const {
  double product = 1;
  for (std::size_t i = from; i < to; ++i) product *= nest.loops[i].extent;
  return product;
}

std::size_t NestFootprint::depth_that_fits(double room) const {
  std::size_t depth = 0;
  while (depth < nest.loops.size() && footprint[depth] > room) ++depth;
  return depth;
}

double NestFootprint::traffic(double room) const {
  const std::size_t depth = depth_that_fits(room);
  const double executed = nest.times / trips(0, nest.loops.size());  // less than 1 in a branch
  return executed * trips(0, depth) * footprint[depth];
}

// Of several accesses of one buffer the widest counts.
double NestFootprint::lines(std::size_t depth) const {
  std::map<const ir::BufferDecl*, double> widest;
  for (const Access& access : nest.accesses) {
    double& seen = widest[access.buffer.get()];
    seen = std::max(seen, lower::footprint(access, inside(depth), line_bytes).lines);
  }
  double sum = 0;
  for (const auto& [buffer, lines] : widest) sum += lines;
  return sum;
}

}  // namespace fettle::lower
