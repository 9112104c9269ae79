// Which register tiles are worth trying (cpu_tiled.h).
#include <algorithm>

#include "host/space/sketches/cpu_tiled.h"

namespace fettle::space {

namespace {

// Computed elements over wanted ones, when the last tile overlaps its neighbour.
double waste(std::int64_t extent, std::int64_t tile) {
  return double((extent + tile - 1) / tile * tile) / double(extent);
}

// Vector lengths in elements: the target's, half of it, and what narrow tensors need.
std::vector<std::int64_t> lane_counts(std::int64_t channels, const CpuTarget& target) {
  std::int64_t lanes = std::max(1, target.vector_bits / 32);
  std::vector<std::int64_t> out;
  for (int i = 0; i < 2 && lanes >= 4; ++i, lanes /= 2) {
    if (lanes <= channels) out.push_back(lanes);
  }
  while (out.empty()) {
    if (lanes <= channels) out.push_back(lanes);
    lanes /= 2;
  }
  return out;
}

}  // namespace

std::vector<std::vector<std::int64_t>> register_tiles(std::int64_t y, std::int64_t x,
                                                      std::int64_t channels,
                                                      const CpuTarget& target) {
  struct Tile {
    std::vector<std::int64_t> value;
    std::int64_t sums;
    double waste;
  };
  std::vector<Tile> all;
  const std::int64_t registers = target.vector_registers;
  for (const std::int64_t lanes : lane_counts(channels, target)) {
    for (std::int64_t ry = 1; ry <= std::min<std::int64_t>(y, 7); ++ry) {
      for (std::int64_t rx = 1; rx <= std::min(x, registers); ++rx) {
        for (std::int64_t v = 1; v <= 16 && v * lanes <= channels; ++v) {
          // The sums, one row of weights and one broadcast input are live at a time.
          if (ry * rx * v + v + 1 > registers) break;
          if (v > 8 && ry * rx > 1) break;
          all.push_back({{ry, rx, v, lanes},
                         ry * rx * v,
                         waste(y, ry) * waste(x, rx) * waste(channels, v * lanes)});
        }
      }
    }
  }
  std::int64_t most = 1;
  double least_waste = 1e9;
  for (const Tile& t : all) {
    most = std::max(most, t.sums);
    least_waste = std::min(least_waste, t.waste);
  }
  std::vector<std::vector<std::int64_t>> out;
  for (const Tile& t : all) {
    // Too few sums leave the multiply-add latency uncovered (4 cycles on 2 pipes: 8).
    if (8 * t.sums >= 5 * std::min(most, registers / 2) && t.waste <= 1.2 * least_waste) {
      out.push_back(t.value);
    }
  }
  if (out.empty()) {
    for (const Tile& t : all) {
      if (t.waste <= least_waste) out.push_back(t.value);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace fettle::space
