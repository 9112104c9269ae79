// Which register tiles of a spatial operator are worth trying (cpu_spatial.h).
#include <algorithm>

#include "host/space/sketches/cpu_spatial.h"

namespace fettle::space {

namespace {

// Computed elements over wanted ones, when the last tile overlaps its neighbour.
double waste(std::int64_t extent, std::int64_t tile) {
  return double((extent + tile - 1) / tile * tile) / double(extent);
}

}  // namespace

std::vector<std::vector<std::int64_t>> spatial_tiles(std::int64_t y, std::int64_t x,
                                                     std::int64_t channels, int element_bits,
                                                     const CpuTarget& target) {
  struct Tile {
    std::vector<std::int64_t> value;
    double waste;
  };
  std::vector<Tile> all;
  double least = 1e9;
  std::int64_t widest = std::max(1, target.vector_bits / element_bits);
  while (widest > channels) widest /= 2;
  for (std::int64_t lanes = widest; lanes >= std::max<std::int64_t>(1, widest / 2); lanes /= 2) {
    for (std::int64_t ry = 1; ry <= std::min<std::int64_t>(y, 8); ++ry) {
      for (std::int64_t rx = 1; rx <= std::min<std::int64_t>(x, 14); ++rx) {
        for (std::int64_t v = 1; v <= 8 && v * lanes <= channels; v *= 2) {
          // One vector of either operand is live beside the tile.
          if (ry * rx * v + 2 > target.vector_registers) break;
          const double w = waste(y, ry) * waste(x, rx) * waste(channels, v * lanes);
          all.push_back({{ry, rx, v, lanes}, w});
          least = std::min(least, w);
        }
      }
    }
  }
  std::vector<std::vector<std::int64_t>> out;
  for (const Tile& t : all) {
    if (t.waste <= 1.2 * least) out.push_back(t.value);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace fettle::space
