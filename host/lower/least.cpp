// Least values of comparisons (least.h).
#include "host/lower/least.h"

#include "host/ir/conditions.h"
#include "host/ir/mutator.h"

namespace fettle::lower {

Bound bound_in(const ir::Stmt& stmt) {
  Bound bound;
  ir::walk(
      stmt,
      [&](const ir::Stmt& s) {
        if (const auto* loop = std::get_if<ir::For>(&s->node)) {
          const std::int64_t* min = ir::as_int(loop->min);
          const std::int64_t* extent = ir::as_int(loop->extent);
          if (min && extent && *extent > 0) {
            bound.ranges[loop->var] = {*min, *min + *extent - 1};
          } else {
            bound.unknown.insert(loop->var);
          }
        } else if (const auto* let = std::get_if<ir::Let>(&s->node)) {
          bound.unknown.insert(let->var);
        }
      },
      nullptr);
  return bound;
}

std::optional<ir::Affine> least_of(const ir::Expr& comparison, const Bound& bound) {
  const auto slack = ir::slack_of(comparison);
  if (!slack) return std::nullopt;
  for (const auto& [var, c] : slack->terms) {
    if (bound.unknown.count(var)) return std::nullopt;
  }
  const ir::Parts parts = ir::parts_of(*slack, [&](const ir::Var& var) {
    const auto range = bound.ranges.find(var);
    return range == bound.ranges.end() ? std::nullopt : std::optional(range->second);
  });
  ir::Affine least = parts.fixed;
  least.constant = parts.moving.low;
  return least;
}

}  // namespace fettle::lower
