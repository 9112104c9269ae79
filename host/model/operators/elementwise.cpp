// Functions of tensors that broadcast to each other.
#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

// fold(fold(a, b), c) …
template <BinaryOp op>
Result<Written> folded(const NodeCall& call) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    shapes.push_back(call.shape(i));
    if (call.scalar(i) != call.scalar(0)) return invalid("its inputs differ in type");
  }
  auto shape = broadcast(shapes);
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  ir::Expr value = widened(broadcast_element(call, 0, axes));
  // IR divides integers toward minus infinity, ONNX toward zero.
  if (op == BinaryOp::Div && !value->type.is_float()) return unsupported("division of integers");
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    value = ir::binary(op, value, widened(broadcast_element(call, i, axes)));
  }
  Written out = written(call.add("value", axes, {}, narrowed(value, call.scalar(0))));
  out.shape = *shape;
  return out;
}

Result<Written> mean(const NodeCall& call) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < call.inputs(); ++i) shapes.push_back(call.shape(i));
  auto shape = broadcast(shapes);
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  ir::Expr value = widened(broadcast_element(call, 0, axes));
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    value = value + widened(broadcast_element(call, i, axes));
  }
  value = value * ir::float_imm(1.0 / static_cast<double>(call.inputs()));
  Written out = written(call.add("mean", axes, {}, narrowed(value, call.scalar(0))));
  out.shape = *shape;
  return out;
}

template <BinaryOp op, bool negated>
Result<Written> compared(const NodeCall& call) {
  auto shape = broadcast({call.shape(0), call.shape(1)});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  ir::Expr value = ir::binary(op, widened(broadcast_element(call, 0, axes)),
                              widened(broadcast_element(call, 1, axes)));
  if (negated) value = ir::unary(ir::UnaryOp::Not, value);
  Written out = written(call.add("truth", axes, {}, value));
  out.shape = *shape;
  return out;
}

// a where the condition holds, else b.
Result<Written> where(const NodeCall& call) {
  auto shape = broadcast({call.shape(0), call.shape(1), call.shape(2)});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  const ir::Expr value =
      ir::select(broadcast_element(call, 0, axes), broadcast_element(call, 1, axes),
                 broadcast_element(call, 2, axes));
  Written out = written(call.add("chosen", axes, {}, value));
  out.shape = *shape;
  return out;
}

constexpr Operator kElementwise[] = {
    {"Add", 2, 2, folded<BinaryOp::Add>, nullptr},
    {"Sub", 2, 2, folded<BinaryOp::Sub>, nullptr},
    {"Mul", 2, 2, folded<BinaryOp::Mul>, nullptr},
    {"Div", 2, 2, folded<BinaryOp::Div>, nullptr},
    {"Max", 1, 64, folded<BinaryOp::Max>, nullptr},
    {"Min", 1, 64, folded<BinaryOp::Min>, nullptr},
    {"Sum", 1, 64, folded<BinaryOp::Add>, nullptr},
    {"Mean", 1, 64, mean, nullptr, Takes::Floats},
    {"Equal", 2, 2, compared<BinaryOp::Eq, false>, nullptr, Takes::Alike},
    {"Less", 2, 2, compared<BinaryOp::Lt, false>, nullptr, Takes::Alike},
    {"LessOrEqual", 2, 2, compared<BinaryOp::Le, false>, nullptr, Takes::Alike},
    {"Greater", 2, 2, compared<BinaryOp::Le, true>, nullptr, Takes::Alike},
    {"GreaterOrEqual", 2, 2, compared<BinaryOp::Lt, true>, nullptr, Takes::Alike},
    {"Where", 3, 3, where, nullptr, Takes::AChoice},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwise; }

}  // namespace fettle::model
