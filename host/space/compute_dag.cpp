// Look-ups in a compute DAG (compute_dag.h).
#include "host/space/compute_dag.h"

#include <algorithm>
#include <limits>

#include "host/ir/mutator.h"

namespace fettle::space {

namespace {

// The product that a sum is of; null: it is none.
const ir::Binary* summed_product(const Stage& stage) {
  const auto* product = stage.body ? std::get_if<ir::Binary>(&stage.body->node) : nullptr;
  const bool sum = product && product->op == ir::BinaryOp::Mul && !stage.reduce_axes.empty() &&
                   stage.combiner == Combiner::Sum;
  return sum ? product : nullptr;
}

// The load that a factor is, if need be widened; null: something else.
const ir::Load* load_in(const ir::Expr& factor) {
  const auto* wide = std::get_if<ir::Cast>(&factor->node);
  return std::get_if<ir::Load>(&(wide ? wide->value : factor)->node);
}

}  // namespace

const ir::Load* factor_from(const Stage& stage, const ir::Buffer& buffer) {
  const ir::Binary* product = summed_product(stage);
  if (!product) return nullptr;
  for (const ir::Expr& factor : {product->a, product->b}) {
    const ir::Load* load = load_in(factor);
    if (load && load->buffer == buffer) return load;
  }
  return nullptr;
}

bool is_constant(const ComputeDag& dag, const Stage& stage) {
  if (stage.placeholder()) return stage.role == ir::Role::Constant;
  bool constant = stage.role != ir::Role::Output;
  // A body may read the same buffer many times (a Winograd transform does): it is asked once.
  std::vector<const Stage*> asked;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load || !constant) return;
    const Stage* read = dag.find(load->buffer);
    if (std::find(asked.begin(), asked.end(), read) != asked.end()) return;
    asked.push_back(read);
    constant = is_constant(dag, *read);
  });
  return constant;
}

std::optional<Factors> factors_of(const ComputeDag& dag, const Stage& stage) {
  const ir::Binary* product = summed_product(stage);
  if (!product) return std::nullopt;
  Factors factors;
  for (const ir::Expr& factor : {product->a, product->b}) {
    const ir::Load* load = load_in(factor);
    if (!load || load->predicate) return std::nullopt;
    (is_constant(dag, *dag.find(load->buffer)) ? factors.constant : factors.data) = load;
  }
  if (!factors.data || !factors.constant) return std::nullopt;
  return factors;
}

const Stage* ComputeDag::find(const std::string& name) const {
  for (const Stage& stage : stages) {
    if (stage.name == name) return &stage;
  }
  return nullptr;
}

const Stage* ComputeDag::find(const ir::Buffer& buffer) const {
  for (const Stage& stage : stages) {
    if (stage.buffer == buffer) return &stage;
  }
  return nullptr;
}

ir::Expr neutral_of(Combiner combiner, ir::DataType type) {
  if (combiner == Combiner::Sum) return ir::zero_of(type.element());
  const bool max = combiner == Combiner::Max;
  if (type.is_float()) {
    const double infinity = std::numeric_limits<double>::infinity();
    return ir::float_imm(max ? -infinity : infinity, type.element());
  }
  const int bits = 8 * type.bytes();
  const bool with_sign = type.scalar != ir::Scalar::UInt8;
  const std::int64_t high =
      std::numeric_limits<std::int64_t>::max() >> (with_sign ? 64 - bits : 63 - bits);
  return ir::int_imm(max ? (with_sign ? -high - 1 : 0) : high, type.element());
}

ir::Expr combine(Combiner combiner, ir::Expr so_far, ir::Expr value) {
  const ir::BinaryOp op = combiner == Combiner::Sum   ? ir::BinaryOp::Add
                          : combiner == Combiner::Max ? ir::BinaryOp::Max
                                                      : ir::BinaryOp::Min;
  return ir::binary(op, std::move(so_far), std::move(value));
}

std::int64_t reduction_length(const ComputeDag& dag) {
  std::int64_t longest = 1;
  for (const Stage& stage : dag.stages) {
    std::int64_t length = 1;
    if (stage.combiner != Combiner::Sum) continue;
    for (const Axis& axis : stage.reduce_axes) length *= axis.extent;
    longest = std::max(longest, length);
  }
  return longest;
}

}  // namespace fettle::space
