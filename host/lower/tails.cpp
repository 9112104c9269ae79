// Guarded and padded tails (tails.h).
#include "host/lower/tails.h"

#include <algorithm>

#include "host/ir/loads.h"

namespace fettle::lower {

ir::Buffer padded_buffer(const space::Stage& stage, const StageBounds& bounds) {
  if (!stage.store_at.empty() || stage.buffer->shape == bounds.extents) return stage.buffer;
  ir::BufferDecl longer = *stage.buffer;
  longer.shape = bounds.extents;
  return std::make_shared<const ir::BufferDecl>(std::move(longer));
}

ir::Expr body_within(const space::Stage& stage, const StageBounds& bounds) {
  ir::Expr body = stage.body;
  for (const ir::Expr& inside : bounds.inside) {
    const ir::Var& axis = std::get<ir::VarRef>(std::get<ir::Binary>(inside->node).a->node).var;
    body = ir::guard_loads(body, inside, [&](const ir::Load& load) {
      return std::any_of(load.indices.begin(), load.indices.end(),
                         [&](const ir::Expr& index) { return ir::mentions(index, axis); });
    });
    const bool reduced = std::any_of(stage.reduce_axes.begin(), stage.reduce_axes.end(),
                                     [&](const space::Axis& a) { return a.var == axis; });
    if (reduced) body = ir::select(inside, body, space::neutral_of(stage.combiner, body->type));
  }
  return body;
}

bool differs_by_lane(const ir::Expr& guard, const StageBounds& bounds) {
  return std::any_of(bounds.loops.begin(), bounds.loops.end(), [&](const BoundLoop& loop) {
    return loop.kind == ir::ForKind::Vectorized && ir::mentions(guard, loop.var);
  });
}

ir::Expr lanes_guard(const StageBounds& bounds, bool initialise) {
  ir::Expr on;
  for (const ir::Expr& guard : bounds.guards) {
    if (!differs_by_lane(guard, bounds)) continue;
    const bool reduced = std::any_of(
        bounds.loops.begin(), bounds.loops.end(),
        [&](const BoundLoop& loop) { return loop.reduce && ir::mentions(guard, loop.var); });
    if (initialise && reduced) continue;
    on = on ? ir::binary(ir::BinaryOp::And, on, guard) : guard;
  }
  return on;
}

}  // namespace fettle::lower
