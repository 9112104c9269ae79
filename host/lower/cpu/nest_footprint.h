// NestFootprint: a statement of a CPU's program with what its loops touch.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "host/lower/loop_nest.h"
#include "host/space/cpu_target.h"

namespace fettle::lower {

inline constexpr int kCacheLevels = 3;
inline constexpr double kUsableShare = 0.8;  // of a cache, before something else evicts

// Of this level, or of the one before where there is none: 32 KiB if nothing is known.
double cache_bytes(const space::CpuTarget& target, int level);
double cache_line_bytes(const space::CpuTarget& target);

// Its loops from this one on are unrolled: a body.
std::size_t body_of(const LoopNest& nest);

struct NestFootprint {
  LoopNest nest;
  double line_bytes = 64;
  std::size_t body = 0;           // loops from here on are unrolled
  std::vector<double> footprint;  // [depth]: bytes that loops[depth…] touch; one more: no loop

  NestFootprint(LoopNest of, double line);

  std::span<const LoopTrip> inside(std::size_t depth) const {
    return std::span(nest.loops).subspan(depth);
  }
  double trips(std::size_t from, std::size_t to) const;
  // The outermost loops whose data fit are loaded once for each of their runs: from this depth on.
  std::size_t depth_that_fits(double room) const;
  // Bytes that must come through a cache of which so much is usable, in one run.
  double traffic(double room) const;

 private:
  double lines(std::size_t depth) const;
};

}  // namespace fettle::lower
