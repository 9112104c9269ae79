// What is on the chip for a tile, laid out as it lies in DRAM.
#pragma once

#include <vector>

#include "host/backend/vta/boxes.h"
#include "host/backend/vta/micro_ops.h"
#include "host/backend/vta/tile_walk.h"

namespace fettle::vta::host {

// The tile's outputs on the chip, as they lie in DRAM.
struct OutputBox {
  BoxAxis rows, columns, out;
  std::vector<BoxAxis*> axes() { return {&rows, &columns, &out}; }
};

OutputBox output_box(const Product& product, const Tile& tile);

// What GEMM reads for a tile and some of the input's blocks.
struct OperandBoxes {
  InputWindow rows, columns;
  BoxAxis in;
  BoxAxis weight_out, weight_in, weight_rows, weight_columns;
  std::vector<BoxAxis*> input_axes() { return {&rows.box, &columns.box, &in}; }
  std::vector<BoxAxis*> weight_axes() {
    return {&weight_out, &weight_in, &weight_rows, &weight_columns};
  }
};

// in: blocks of the input.
OperandBoxes operand_boxes(const Product& product, const Tile& tile, std::int64_t in);

// GEMM's loops over both.
std::vector<NestAxis> gemm_axes(const OutputBox& to, const OperandBoxes& from);

// Whether GEMM can do a whole tile: its micro-ops fit UOP, and none of its sums comes too soon
// again.
bool has_nest(const Product& product, const Design& design, const Tiling& tiling);

}  // namespace fettle::vta::host
