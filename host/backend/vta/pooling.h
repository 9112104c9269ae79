// The largest under a window: max pooling on the accelerator's ALU. GEMM with ones on the diagonal
// brings a tile's int8 into the accumulators; one ALU instruction for each place of the window
// takes them in. Places beside the image are left out, not read.
#pragma once

#include "host/backend/vta/bound.h"
#include "host/backend/vta/generate.h"

namespace fettle::vta::host {

struct Pooling {
  std::vector<SpatialAxis> outer;  // images and blocks of channels
  SpatialAxis rows, columns;
  std::vector<ir::ProgramBuffer> buffers;  // 0: input, 1: output

  std::int64_t outputs() const;      // elements of OUT
  std::int64_t comparisons() const;  // steps of the ALU: of each output, places in the image
  std::int64_t inputs() const;       // elements that some output needs, in one piece
};

// Unsupported, in one line: the DAG is no largest under a window of blocks of int8.
Result<Pooling> pooling_of(const space::ComputeDag& dag, const Design& design);

// Which of [first, first + count) read a place of the image at this place of the window.
Range inside_of(const SpatialAxis& axis, const Range& outputs, std::int64_t window);

// The fewest cycles that this takes: whatever the tiles, each input comes into ACC once at least.
Bound bound_of(const Pooling& pooling, const Design& design, double compulsory_bytes);

// One sketch with the knobs tile_h and tile_w; only what fits the chip fulfils its constraints.
// Unsupported: nothing does.
Result<space::Sketch> sketch_of(const Pooling& pooling, const Design& design);
Tiling pooling_tiling_of(const space::SearchSpace& space,
                         const space::Configuration& configuration);
// Entries for one tile; Accumulator: of its inputs and outputs.
std::int64_t tile_entries(const Pooling& pooling, const Tiling& tiling, Memory memory);

// rows and columns of `tiling` only. BuildError: instructions cannot say it.
Result<Generated> generate(const Pooling& pooling, const Design& design, const Tiling& tiling);

}  // namespace fettle::vta::host
