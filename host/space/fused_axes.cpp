// Several axes as one (fused_axes.h).
#include "host/space/fused_axes.h"

#include <algorithm>

#include "host/space/operators/stages.h"

namespace fettle::space {

std::vector<ir::Expr> parts_of_fused(const ir::Expr& fused, std::span<const std::int64_t> extents) {
  std::vector<ir::Expr> parts(extents.size());
  std::int64_t inner = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    // The outermost one that moves needs no modulus.
    const auto before = extents.first(i);
    const bool outermost =
        std::all_of(before.begin(), before.end(), [](std::int64_t extent) { return extent == 1; });
    parts[i] = fused;
    if (inner > 1) parts[i] = ir::binary(ir::BinaryOp::Div, parts[i], ir::int_imm(inner));
    if (extents[i] == 1) {
      parts[i] = ir::int_imm(0);
    } else if (!outermost) {
      parts[i] = ir::binary(ir::BinaryOp::Mod, parts[i], ir::int_imm(extents[i]));
    }
    inner *= extents[i];
  }
  return parts;
}

FusedAxes fused_axes(std::string name, const std::vector<Axis>& axes, std::int64_t extent) {
  FusedAxes out{make_axis(std::move(name), extent), {}};
  std::vector<std::int64_t> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  const std::vector<ir::Expr> parts = parts_of_fused(ir::var_ref(out.axis.var), extents);
  for (std::size_t i = 0; i < axes.size(); ++i) out.parts[axes[i].var] = parts[i];
  return out;
}

std::int64_t product_of_extents(const std::vector<Axis>& axes) {
  std::int64_t product = 1;
  for (const Axis& axis : axes) product *= axis.extent;
  return product;
}

}  // namespace fettle::space
