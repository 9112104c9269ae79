// Functions of tensors that broadcast to each other.
#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;

// A quotient as ONNX has it: IR's is rounded toward minus infinity, and divides by what is above 0.
ir::Expr toward_zero(const ir::Expr& a, const ir::Expr& b) {
  const ir::Expr zero = ir::zero_of(a->type), one = ir::int_imm(1, a->type);
  const auto negative = [&](const ir::Expr& x) { return ir::binary(BinaryOp::Lt, x, zero); };
  const auto size = [&](const ir::Expr& x) { return ir::select(negative(x), zero - x, x); };
  const ir::Expr quotient =
      ir::binary(BinaryOp::Div, size(a), ir::binary(BinaryOp::Max, size(b), one));
  const ir::Expr differ =
      ir::binary(BinaryOp::Or,
                 ir::binary(BinaryOp::And, negative(a), ir::unary(ir::UnaryOp::Not, negative(b))),
                 ir::binary(BinaryOp::And, negative(b), ir::unary(ir::UnaryOp::Not, negative(a))));
  return ir::select(differ, zero - quotient, quotient);
}

// By a whole number that is known and above 0: the quotient toward zero; or what it leaves, with
// the sign of x or, rounded toward minus infinity, none.
template <bool rest>
Result<Written> by_known(const NodeCall& call) {
  const std::int64_t by = call.integer("by");
  if (by < 1) return invalid("its divisor is not above 0");
  const auto axes = axes_of(call.shape(0));
  const ir::Expr x = widened(element(call, 0, indices_of(axes)));
  if (x->type.is_float()) return unsupported("of " + ir::to_string(ir::DataType{call.scalar(0)}));
  const ir::Expr divisor = ir::int_imm(by, x->type), zero = ir::zero_of(x->type);
  // IR's is rounded toward minus infinity.
  const ir::Expr raised =
      ir::select(ir::binary(BinaryOp::Lt, x, zero), x + ir::int_imm(by - 1, x->type), x);
  const ir::Expr quotient = ir::binary(BinaryOp::Div, raised, divisor);
  ir::Expr value = quotient;
  if (rest) {
    value =
        call.integer("fmod") != 0 ? x - quotient * divisor : ir::binary(BinaryOp::Mod, x, divisor);
  }
  Written out = written(call.add("value", axes, {}, narrowed(value, call.scalar(0))));
  out.shape = call.shape(0);
  return out;
}

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
  const bool whole = op == BinaryOp::Div && !value->type.is_float();
  for (std::size_t i = 1; i < call.inputs(); ++i) {
    const ir::Expr other = widened(broadcast_element(call, i, axes));
    value = whole ? toward_zero(value, other) : ir::binary(op, value, other);
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

// What is no number is neither less nor greater.
template <BinaryOp op, bool turned>
Result<Written> compared(const NodeCall& call) {
  auto shape = broadcast({call.shape(0), call.shape(1)});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  const ir::Expr value = ir::binary(op, widened(broadcast_element(call, turned ? 1 : 0, axes)),
                                    widened(broadcast_element(call, turned ? 0 : 1, axes)));
  Written out = written(call.add("truth", axes, {}, value));
  out.shape = *shape;
  return out;
}

template <BinaryOp op>
Result<Written> logical(const NodeCall& call) {
  if (call.scalar(0) != ir::Scalar::Bool || call.scalar(1) != ir::Scalar::Bool) {
    return invalid("its inputs are no conditions");
  }
  auto shape = broadcast({call.shape(0), call.shape(1)});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  const ir::Expr a = broadcast_element(call, 0, axes), b = broadcast_element(call, 1, axes);
  const auto number = [](const ir::Expr& x) { return ir::cast(ir::kInt32, x); };
  const ir::Expr value =
      op == BinaryOp::Ne ? ir::binary(op, number(a), number(b)) : ir::binary(op, a, b);
  Written out = written(call.add("truth", axes, {}, value));
  out.shape = *shape;
  return out;
}

Result<Written> raised(const NodeCall& call) {
  auto shape = broadcast({call.shape(0), call.shape(1)});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  const ir::Expr power = space::power(widened(broadcast_element(call, 0, axes)),
                                      widened(broadcast_element(call, 1, axes)));
  Written out = written(call.add("power", axes, {}, narrowed(power, call.scalar(0))));
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
    {"DivideBy", 1, 1, by_known<false>, nullptr},
    {"RestOf", 1, 1, by_known<true>, nullptr},
    {"Max", 1, 64, folded<BinaryOp::Max>, nullptr},
    {"Min", 1, 64, folded<BinaryOp::Min>, nullptr},
    {"Sum", 1, 64, folded<BinaryOp::Add>, nullptr},
    {"Mean", 1, 64, mean, nullptr, Takes::Floats},
    {"PowerOf", 2, 2, raised, nullptr, Takes::Floats},
    {"Equal", 2, 2, compared<BinaryOp::Eq, false>, nullptr, Takes::Alike},
    {"Less", 2, 2, compared<BinaryOp::Lt, false>, nullptr, Takes::Alike},
    {"LessOrEqual", 2, 2, compared<BinaryOp::Le, false>, nullptr, Takes::Alike},
    {"Greater", 2, 2, compared<BinaryOp::Lt, true>, nullptr, Takes::Alike},
    {"GreaterOrEqual", 2, 2, compared<BinaryOp::Le, true>, nullptr, Takes::Alike},
    {"And", 2, 2, logical<BinaryOp::And>, nullptr},
    {"Or", 2, 2, logical<BinaryOp::Or>, nullptr},
    {"Xor", 2, 2, logical<BinaryOp::Ne>, nullptr},
    {"Where", 3, 3, where, nullptr, Takes::AChoice},
};

}  // namespace

std::span<const Operator> elementwise_operators() { return kElementwise; }

}  // namespace fettle::model
