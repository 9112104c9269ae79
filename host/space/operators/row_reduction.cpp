// Reductions along rows (row_reduction.h).
#include "host/space/operators/row_reduction.h"

#include <algorithm>

#include "host/ir/loads.h"

namespace fettle::space {

Stage append_row_reduction(ComputeDag& dag, const std::string& name, std::int64_t rows,
                           std::int64_t length, Combiner combiner,
                           const std::function<ir::Expr(ir::Expr, ir::Expr)>& element) {
  const std::int64_t lanes = length % 16 == 0 || length % 8 != 0 ? 16 : 8;
  const Axis n = make_axis("n", rows), lane = make_axis("lane", lanes),
             k = make_axis("k", (length + lanes - 1) / lanes);
  const ir::Expr column = ir::var_ref(k.var) * ir::int_imm(lanes) + ir::var_ref(lane.var);
  ir::Expr value = element(ir::var_ref(n.var), column);
  if (length % lanes != 0) {
    const ir::Expr inside = ir::binary(ir::BinaryOp::Lt, column, ir::int_imm(length));
    const auto moves = [&](const ir::Load& load) {
      return std::any_of(load.indices.begin(), load.indices.end(),
                         [&](const ir::Expr& index) { return ir::mentions(index, lane.var); });
    };
    value = ir::select(inside, ir::guard_loads(value, inside, moves),
                       neutral_of(combiner, value->type));
  }
  dag.stages.push_back(make_stage(name + ".lanes", {n, lane}, {k}, value, combiner));
  const Axis m = make_axis("n", rows), over = make_axis("lane", lanes);
  const ir::Expr partial = at(dag.stages.back(), {ir::var_ref(m.var), ir::var_ref(over.var)});
  dag.stages.push_back(make_stage(name, {m}, {over}, partial, combiner));
  return dag.stages.back();
}

ir::Expr reciprocal(std::int64_t length) {
  return ir::binary(ir::BinaryOp::Div, ir::float_imm(1), ir::float_imm(double(length)));
}

ir::Expr of_row(const Stage& stage, const ir::Expr& n) { return at(stage, {n}); }

}  // namespace fettle::space
