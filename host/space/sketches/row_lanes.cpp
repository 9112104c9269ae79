// Reductions along rows by vectors (row_lanes.h).
#include "host/space/sketches/row_lanes.h"

#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"

namespace fettle::space {

bool is_contiguous(const ComputeDag& dag, const Stage& stage, const Axis& axis, bool constants) {
  bool fits = true, any = false;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load || load->indices.empty()) return;
    if (!constants && dag.find(load->buffer)->role == ir::Role::Constant) return;
    const auto moves = [&](const ir::Expr& index) { return ir::mentions(index, axis.var); };
    if (std::none_of(load->indices.begin(), load->indices.end(), moves)) return;
    const auto* last = std::get_if<ir::VarRef>(&load->indices.back()->node);
    fits &= last && last->var == axis.var &&
            std::none_of(load->indices.begin(), load->indices.end() - 1, moves);
    any = true;
  });
  return fits && any;
}

bool reduces_rows(const ComputeDag& dag, const Stage& stage) {
  return stage.axes.size() == 1 && stage.reduce_axes.size() == 1 && stage.store_at.empty() &&
         is_contiguous(dag, stage, stage.reduce_axes[0], true);
}

std::int64_t row_lanes(std::int64_t length, const CpuTarget& target) {
  const std::int64_t most = std::max(16, target.vector_bits / 32);
  return length % most == 0 || length % (most / 2) != 0 ? most : most / 2;
}

}  // namespace fettle::space
