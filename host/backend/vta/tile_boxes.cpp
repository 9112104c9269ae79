// Boxes of tiles, and GEMM's loops over them (tile_boxes.h).
#include "host/backend/vta/tile_boxes.h"

namespace fettle::vta::host {

OutputBox output_box(const Product& product, const Tile& tile) {
  OutputBox box;
  box.rows = {tile.rows.count, product.rows.output_stride};
  box.columns = {tile.columns.count, product.columns.output_stride};
  box.out = {tile.out.count, product.out.output_stride};
  lay_out(box.axes());
  return box;
}

OperandBoxes operand_boxes(const Product& product, const Tile& tile, std::int64_t in) {
  OperandBoxes boxes;
  boxes.rows = window_of(product.rows, tile.rows);
  boxes.columns = window_of(product.columns, tile.columns);
  boxes.in = {in, product.in.input_stride};
  boxes.weight_out = {tile.out.count, product.out.weight_stride};
  boxes.weight_in = {in, product.in.weight_stride};
  boxes.weight_rows = {product.rows.window, product.rows.weight_stride};
  boxes.weight_columns = {product.columns.window, product.columns.weight_stride};
  lay_out(boxes.input_axes());
  lay_out(boxes.weight_axes());
  return boxes;
}

std::vector<NestAxis> gemm_axes(const OutputBox& to, const OperandBoxes& from) {
  const auto along = [](const BoxAxis& out, const InputWindow& in) {
    return NestAxis{out.extent, out.on_chip, in.step * in.box.on_chip, 0};
  };
  const auto window = [](const BoxAxis& weight, const InputWindow& in) {
    return NestAxis{weight.extent, 0, in.dilation * in.box.on_chip, weight.on_chip};
  };
  return {{to.out.extent, to.out.on_chip, 0, from.weight_out.on_chip},
          along(to.rows, from.rows),
          along(to.columns, from.columns),
          {from.in.extent, 0, from.in.on_chip, from.weight_in.on_chip},
          window(from.weight_rows, from.rows),
          window(from.weight_columns, from.columns)};
}

bool has_nest(const Product& product, const Design& design, const Tiling& tiling) {
  const Tile tile{{0, tiling.rows}, {0, tiling.columns}, {0, tiling.out}, {}, 0, 0};
  const OutputBox to = output_box(product, tile);
  return nest_of(design, gemm_axes(to, operand_boxes(product, tile, tiling.in)), {}).has_value();
}

}  // namespace fettle::vta::host
