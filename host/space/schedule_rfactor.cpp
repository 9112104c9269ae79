// Steps that let a reduction run in parts side by side: rfactor, and a constant in the order
// that it is read in then (schedule.h).
#include <algorithm>
#include <cmath>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/operators/stages.h"
#include "host/space/schedule.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

bool moves_with(const ir::Load& load, const ir::Var& var) {
  return std::any_of(load.indices.begin(), load.indices.end(),
                     [&](const ir::Expr& index) { return ir::mentions(index, var); });
}

// Surely no infinity, which times 0 is no number.
bool is_finite(const ir::Expr& e) {
  if (const auto* real = std::get_if<ir::FloatImm>(&e->node)) return std::isfinite(real->value);
  if (const auto* wide = std::get_if<ir::Cast>(&e->node)) return is_finite(wide->value);
  return !e->type.is_float();
}

// Whether it is 0 where loads that move with the variable are.
bool is_zero_without(const ir::Expr& e, const ir::Var& var) {
  if (const auto* load = std::get_if<ir::Load>(&e->node)) return moves_with(*load, var);
  if (const auto* wide = std::get_if<ir::Cast>(&e->node)) return is_zero_without(wide->value, var);
  const auto* product = std::get_if<ir::Binary>(&e->node);
  if (!product || product->op != ir::BinaryOp::Mul) return false;
  const auto zero_times = [&](const ir::Expr& zero, const ir::Expr& other) {
    return is_zero_without(zero, var) && (is_finite(other) || is_zero_without(other, var));
  };
  return zero_times(product->a, product->b) || zero_times(product->b, product->a);
}

}  // namespace

Result<void> Schedule::run(const RfactorStep& s) {
  const int index = index_of(s.stage);
  if (index < 0 || dag_.stages[index].placeholder()) return unfit("no such stage");
  Stage whole = dag_.stages[index], partial = whole;
  const auto cut = std::find_if(partial.reduce_axes.begin(), partial.reduce_axes.end(),
                                [&](const Axis& axis) { return axis.name == s.axis; });
  if (cut == partial.reduce_axes.end()) return unfit("no such reduction axis");
  const Axis old = *cut;
  if (s.parts < 1) return unfit("no parts");

  const Axis part = make_axis(s.axis + "." + s.kind, s.parts);
  *cut = make_axis(s.axis, (old.extent + s.parts - 1) / s.parts);
  const ir::Expr at =
      s.interleaved ? ir::var_ref(cut->var) * ir::int_imm(s.parts) + ir::var_ref(part.var)
                    : ir::var_ref(part.var) * ir::int_imm(cut->extent) + ir::var_ref(cut->var);
  if (old.extent % s.parts != 0) {
    const ir::Expr inside =
        ir::binary(ir::BinaryOp::Lt, ir::var_ref(old.var), ir::int_imm(old.extent));
    const bool zero = partial.combiner == Combiner::Sum && is_zero_without(partial.body, old.var);
    partial.body = ir::guard_loads(partial.body, inside,
                                   [&](const ir::Load& load) { return moves_with(load, old.var); });
    if (!zero) {
      partial.body =
          ir::select(inside, partial.body, neutral_of(partial.combiner, partial.body->type));
    }
  }
  partial.name = s.stage + "." + s.kind;
  partial.body = ir::substitute(partial.body, {{old.var, at}});
  partial.role = ir::Role::Scratch;
  partial.store_at.clear();

  // The whole combines the parts.
  ir::Substitution renamed;
  std::vector<ir::Expr> from;
  for (Axis& axis : whole.axes) {
    const ir::Var was = axis.var;
    axis.var = ir::make_var(axis.name);
    from.push_back(ir::var_ref(axis.var));
    renamed[was] = from.back();
  }
  for (ir::Expr& place : whole.store_at) place = ir::substitute(place, renamed);
  const Axis over = make_axis(part.name, s.parts);
  from.insert(s.last ? from.end() : from.begin(), ir::var_ref(over.var));
  partial.axes.insert(s.last ? partial.axes.end() : partial.axes.begin(), part);
  partial.buffer = make_buffer(partial.name, whole.buffer->type, partial.axes);
  whole.reduce_axes = {over};
  whole.body = ir::load(partial.buffer, from);

  dag_.stages[index] = whole;
  dag_.stages.insert(dag_.stages.begin() + index, partial);
  plan_afresh(partial);
  plan_afresh(whole);
  return {};
}

Result<void> Schedule::run(const TransposeConstantStep& s) {
  const int index = index_of(s.constant);
  if (index < 0 || dag_.stages[index].role != ir::Role::Constant) return unfit("no such constant");
  const Stage constant = dag_.stages[index];
  std::size_t moved = 0;
  while (moved < constant.axes.size() && constant.axes[moved].name != s.axis) ++moved;
  if (moved == constant.axes.size()) return unfit("no such axis");
  const auto in_order = [&](std::vector<ir::Expr> indices) {
    std::rotate(indices.begin() + std::ptrdiff_t(moved),
                indices.begin() + std::ptrdiff_t(moved) + 1, indices.end());
    return indices;
  };
  std::vector<Axis> axes;
  std::vector<ir::Expr> from;
  for (const Axis& axis : constant.axes) {
    axes.push_back(make_axis(axis.name, axis.extent));
    from.push_back(ir::var_ref(axes.back().var));
  }
  std::rotate(axes.begin() + std::ptrdiff_t(moved), axes.begin() + std::ptrdiff_t(moved) + 1,
              axes.end());
  const Stage copy =
      make_stage(s.constant + ".transposed", std::move(axes), {}, ir::load(constant.buffer, from));

  const auto redirected = [&](const ir::Load& load) {
    return ir::load(copy.buffer, in_order(load.indices), load.predicate);
  };
  for (Stage& stage : dag_.stages) {
    if (stage.body) stage.body = ir::replace_loads(stage.body, constant.buffer, redirected);
  }
  dag_.stages.insert(dag_.stages.begin() + index + 1, copy);
  plan_afresh(copy);
  return {};
}

}  // namespace fettle::space
