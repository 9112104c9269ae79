// Reductions along rows (row_reduction.h).
#include "host/space/operators/row_reduction.h"

namespace fettle::space {

Stage append_row_reduction(ComputeDag& dag, const std::string& name, std::int64_t rows,
                           std::int64_t length, Combiner combiner,
                           const std::function<ir::Expr(ir::Expr, ir::Expr)>& element) {
  const Axis n = make_axis("n", rows), k = make_axis("k", length);
  dag.stages.push_back(
      make_stage(name, {n}, {k}, element(ir::var_ref(n.var), ir::var_ref(k.var)), combiner));
  return dag.stages.back();
}

ir::Expr reciprocal(std::int64_t length) {
  return ir::binary(ir::BinaryOp::Div, ir::float_imm(1), ir::float_imm(double(length)));
}

ir::Expr of_row(const Stage& stage, const ir::Expr& n) { return at(stage, {n}); }

}  // namespace fettle::space
