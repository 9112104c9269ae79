// Tiling: how a product is cut into what is on the chip at a time, and in which order the parts
// come. Its fields are the knobs of the search space.
#pragma once

#include "host/backend/vta/product.h"
#include "host/space/search_space.h"

namespace fettle::vta::host {

struct Tiling {
  std::int64_t rows = 1, columns = 1;  // of outputs in a tile
  std::int64_t in = 1, out = 1;        // blocks of channels: loaded at a time; of the tile
  // Virtual threads: neighbouring tiles along the output's blocks, or along rows, that take turns
  // from one load of inputs to the next. Each has its own sums on the chip.
  std::int64_t out_threads = 1, row_threads = 1;
  // Which tiles follow one another: those of other output blocks, over the same inputs; or those of
  // other rows and columns, with the same weights.
  bool inputs_stay = true;
  std::int64_t store_pieces = 1;  // of a tile, each stored as soon as its tail is done
};

// Entries that a product needs of a memory beside its tiles: constants that stay.
std::int64_t kept_entries(const Product& product, const Design& design, Memory memory);
// Entries of a memory for one tile; Accumulator: of one virtual thread, also in OUT.
std::int64_t tile_entries(const Product& product, const Tiling& tiling, Memory memory);

// One sketch: knobs named as AutoTVM's for VTA are, tiles by the size of their inner part. Only
// what fits the chip fulfils its constraints. Unsupported: nothing does.
Result<space::Sketch> sketch_of(const Product& product, const Design& design);
Tiling tiling_of(const space::SearchSpace& space, const space::Configuration& configuration);
// InvalidArgument: not of the space, with what it lacks or breaks.
Result<space::Configuration> configuration_of(const space::SearchSpace& space,
                                              const Tiling& tiling);

}  // namespace fettle::vta::host
