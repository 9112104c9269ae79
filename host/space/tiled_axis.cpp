// Cutting an axis into tiles (tiled_axis.h).
#include "host/space/tiled_axis.h"

namespace fettle::space {

ir::Buffer make_buffer(std::string name, ir::DataType type, const std::vector<Axis>& axes) {
  ir::BufferDecl decl{std::move(name), type, {}};
  for (const Axis& axis : axes) decl.shape.push_back(axis.extent);
  return std::make_shared<const ir::BufferDecl>(std::move(decl));
}

ir::Expr tile_begin(const ir::Var& tile, std::int64_t factor, std::int64_t extent) {
  const ir::Expr begin = ir::var_ref(tile) * ir::int_imm(factor);
  if (extent % factor == 0) return begin;
  return ir::binary(ir::BinaryOp::Min, begin, ir::int_imm(extent - factor));
}

TiledAxis tile_axis(const Axis& axis, std::int64_t factor) {
  const std::int64_t tiles = (axis.extent + factor - 1) / factor;
  const std::string tile = axis.name + ".tile", in = axis.name + ".in";
  TiledAxis t{{tile, ir::make_var(tile), tiles}, {in, ir::make_var(in), factor}, nullptr};
  t.value = tile_begin(t.tile.var, factor, axis.extent) + ir::var_ref(t.in.var);
  return t;
}

}  // namespace fettle::space
