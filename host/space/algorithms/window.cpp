// Recognising windows (window.h).
#include "host/space/algorithms/window.h"

#include "host/ir/affine.h"

namespace fettle::space {

namespace {

// Which dimension of a load is exactly first + second (second: may be null); -1: none.
int dimension_of(const ir::Load& load, const ir::Var& first, const ir::Var& second) {
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const auto linear = ir::affine_of(load.indices[d]);
    if (!linear || linear->constant != 0 || linear->coefficient(first) != 1) continue;
    if (linear->terms.size() != (second ? 2u : 1u)) continue;
    if (!second || linear->coefficient(second) == 1) return int(d);
  }
  return -1;
}

// What is read, where it is widened from float16.
const ir::Expr& narrow(const ir::Expr& factor) {
  const auto* wide = std::get_if<ir::Cast>(&factor->node);
  return wide && wide->value->type.scalar == ir::Scalar::Float16 ? wide->value : factor;
}

}  // namespace

std::optional<Window> winograd_window(const ComputeDag& dag, const Stage& stage) {
  if (stage.axes.size() != 4 || stage.reduce_axes.size() != 3) return std::nullopt;
  const auto* product = stage.body ? std::get_if<ir::Binary>(&stage.body->node) : nullptr;
  if (!product || product->op != ir::BinaryOp::Mul || !stage.body->type.is_float()) {
    return std::nullopt;
  }
  Window w{stage.axes[0],
           stage.axes[1],
           stage.axes[2],
           stage.axes[3],
           stage.reduce_axes[0],
           stage.reduce_axes[1],
           {},
           narrow(product->a),
           narrow(product->b)};
  w.in = stage.reduce_axes[2];
  const auto* data = std::get_if<ir::Load>(&w.data->node);
  const auto* weight = std::get_if<ir::Load>(&w.weight->node);
  if (!data || !weight || data->indices.size() != 4 || weight->indices.size() != 4) {
    return std::nullopt;
  }
  const Stage* constant = dag.find(weight->buffer);
  if (!constant || !is_constant(dag, *constant) || w.kh.extent != 3 || w.kw.extent != 3) {
    return std::nullopt;
  }
  const bool pixels =
      dimension_of(*data, w.n.var, nullptr) >= 0 && dimension_of(*data, w.y.var, w.kh.var) >= 0 &&
      dimension_of(*data, w.x.var, w.kw.var) >= 0 && dimension_of(*data, w.in.var, nullptr) == 3;
  bool weights = true;
  for (const ir::Var& var : {w.kh.var, w.kw.var, w.in.var, w.out.var}) {
    weights &= dimension_of(*weight, var, nullptr) >= 0;
  }
  if (!pixels || !weights) return std::nullopt;
  return w;
}

}  // namespace fettle::space
