// The tiles of a product in the order in which they are computed.
#pragma once

#include <vector>

#include "host/backend/vta/boxes.h"
#include "host/backend/vta/tiling.h"

namespace fettle::vta::host {

struct Tile {
  Range rows, columns, out;         // of outputs; of blocks
  std::vector<std::int64_t> outer;  // of each outer axis
  std::int64_t place = 0;      // of its rows, columns and outer axes among all such: its inputs
  std::int64_t out_index = 0;  // of its blocks among all such: its weights
};

// Groups of tiles that are computed together, one for each virtual thread: at the end of an axis
// there may be fewer.
std::vector<std::vector<Tile>> walk(const Product& product, const Tiling& tiling);

// How an axis is cut: the last one may be smaller.
std::vector<Range> cut(std::int64_t extent, std::int64_t size);

}  // namespace fettle::vta::host
