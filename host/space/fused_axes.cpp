// Several axes as one (fused_axes.h).
#include "host/space/fused_axes.h"

#include <algorithm>

#include "host/space/operators/stages.h"

namespace fettle::space {

FusedAxes fused_axes(std::string name, const std::vector<Axis>& axes, std::int64_t extent) {
  FusedAxes out{make_axis(std::move(name), extent), {}};
  std::int64_t inner = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    ir::Expr part = ir::var_ref(out.axis.var);
    if (inner > 1) part = ir::binary(ir::BinaryOp::Div, part, ir::int_imm(inner));
    const bool first =
        std::all_of(axis + 1, axes.rend(), [](const Axis& a) { return a.extent == 1; });
    if (axis->extent == 1) {
      part = ir::int_imm(0);
    } else if (!first) {
      part = ir::binary(ir::BinaryOp::Mod, part, ir::int_imm(axis->extent));
    }
    out.parts[axis->var] = part;
    inner *= axis->extent;
  }
  return out;
}

std::int64_t product_of_extents(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

}  // namespace fettle::space
