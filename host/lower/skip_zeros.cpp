// Leaving out zeros (skip_zeros.h).
#include "host/lower/skip_zeros.h"

#include <optional>

#include "host/ir/affine.h"
#include "host/ir/mutator.h"
#include "host/ir/simplify.h"

namespace fettle::lower {

namespace {

// Whether a <= b or a < b holds for some value of the variables that are not known.
ir::Expr somewhere(const ir::Expr& condition, const StageBounds& bounds, const ir::Ranges& ranges,
                   const std::set<ir::Var>& known) {
  const auto* compare = std::get_if<ir::Binary>(&condition->node);
  if (!compare || (compare->op != ir::BinaryOp::Le && compare->op != ir::BinaryOp::Lt)) {
    return ir::bool_imm(true);
  }
  auto least = ir::affine_of(ir::simplify(compare->a)),
       most = ir::affine_of(ir::simplify(compare->b));
  if (!least || !most) return ir::bool_imm(true);
  ir::Affine difference = *least;  // a - b at its smallest
  difference.add(*most, -1);
  const ir::Parts parts = ir::parts_of(difference, [&](const ir::Var& var) {
    const bool fixed = defined(ir::var_ref(var), known, bounds);
    return fixed ? std::nullopt : std::optional(ranges.at(var));
  });
  ir::Affine smallest = parts.fixed;
  smallest.constant = parts.moving.low;
  return ir::binary(compare->op, smallest.expr(), ir::int_imm(0));
}

}  // namespace

ir::Stmt without_zeros(const space::StagePlan& plan, const StageBounds& bounds,
                       const ir::Ranges& ranges, const ir::Var& loop,
                       const std::set<ir::Var>& known, ir::Stmt body) {
  for (const space::Skip& skip : plan.skips) {
    if (skip.loop != loop) continue;
    ir::Expr needed;
    for (const ir::Expr& condition : skip.conditions) {
      ir::Expr some =
          somewhere(ir::substitute(condition, bounds.axis_values), bounds, ranges, known);
      needed = needed ? ir::binary(ir::BinaryOp::And, needed, some) : some;
    }
    needed = ir::simplify(needed, ranges);
    if (!ir::as_int(needed)) body = ir::make_if(needed, std::move(body));
  }
  return body;
}

}  // namespace fettle::lower
