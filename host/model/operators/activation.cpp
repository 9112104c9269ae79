// Functions of one tensor, element by element.
#include <functional>

#include "host/model/operators/call.h"

namespace fettle::model {
namespace {

using ir::BinaryOp;
using ir::UnaryOp;

ir::Expr number(double value) { return ir::float_imm(value); }

Result<Written> each(const NodeCall& call, const std::function<ir::Expr(ir::Expr)>& value,
                     ir::Scalar to) {
  const auto axes = axes_of(call.shape(0));
  const ir::Expr x = widened(element(call, 0, indices_of(axes)));
  Written out = written(call.add("value", axes, {}, narrowed(value(x), to)));
  out.shape = call.shape(0);
  return out;
}

// Computed in float32 (Takes::Floats).
template <ir::Expr (*value)(const ir::Expr&)>
Result<Written> smooth(const NodeCall& call) {
  return each(call, value, call.scalar(0));
}

template <UnaryOp op>
Result<Written> plain(const NodeCall& call) {
  return each(call, [](const ir::Expr& x) { return ir::unary(op, x); }, call.scalar(0));
}

ir::Expr reciprocal(const ir::Expr& x) { return ir::binary(BinaryOp::Div, number(1), x); }
ir::Expr square_root(const ir::Expr& x) { return ir::unary(UnaryOp::Sqrt, x); }
ir::Expr ceiling(const ir::Expr& x) { return number(0) - ir::unary(UnaryOp::Floor, number(0) - x); }
ir::Expr rounded(const ir::Expr& x) { return ir::unary(UnaryOp::RoundEven, x); }
ir::Expr softsign(const ir::Expr& x) {
  return ir::binary(BinaryOp::Div, x, number(1) + ir::unary(UnaryOp::Abs, x));
}

Result<Written> relu(const NodeCall& call) {
  return each(
      call, [](const ir::Expr& x) { return ir::binary(BinaryOp::Max, x, ir::zero_of(x->type)); },
      call.scalar(0));
}

ir::Expr negative(const ir::Expr& x) { return ir::binary(BinaryOp::Lt, x, number(0)); }

Result<Written> leaky_relu(const NodeCall& call) {
  const double alpha = call.number("alpha");
  return each(
      call, [&](const ir::Expr& x) { return ir::select(negative(x), x * number(alpha), x); },
      call.scalar(0));
}

// alpha (e^x - 1) below 0, gamma times all of it.
Result<Written> elu(const NodeCall& call) {
  const double alpha = call.number("alpha"), gamma = call.number("gamma");
  return each(
      call,
      [&](const ir::Expr& x) {
        const ir::Expr below = (space::exponential(x) - number(1)) * number(alpha * gamma);
        return ir::select(negative(x), below, x * number(gamma));
      },
      call.scalar(0));
}

Result<Written> parametric_relu(const NodeCall& call) {
  const auto axes = axes_of(call.shape(0));
  auto shape = broadcast({call.shape(0), call.shape(1)});
  if (!shape) return std::move(shape).error();
  if (*shape != call.shape(0)) return invalid("its slope does not broadcast to its input");
  const ir::Expr x = widened(element(call, 0, indices_of(axes)));
  const ir::Expr slope = widened(broadcast_element(call, 1, axes));
  const ir::Expr value = ir::select(negative(x), x * slope, x);
  Written out = written(call.add("value", axes, {}, narrowed(value, call.scalar(0))));
  out.shape = call.shape(0);
  return out;
}

Result<Written> hard_sigmoid(const NodeCall& call) {
  const double alpha = call.number("alpha"), beta = call.number("beta");
  return each(
      call, [&](const ir::Expr& x) { return space::clip(x * number(alpha) + number(beta), 0, 1); },
      call.scalar(0));
}

Result<Written> clip(const NodeCall& call) {
  const double low = call.number("min"), high = call.number("max");
  return each(call, [&](const ir::Expr& x) { return space::clip(x, low, high); }, call.scalar(0));
}

Result<Written> negation(const NodeCall& call) {
  if (call.scalar(0) != ir::Scalar::Bool) return invalid("its input is no condition");
  const auto axes = axes_of(call.shape(0));
  const ir::Expr value = ir::unary(UnaryOp::Not, element(call, 0, indices_of(axes)));
  Written out = written(call.add("value", axes, {}, value));
  out.shape = call.shape(0);
  return out;
}

Result<Written> not_a_number(const NodeCall& call) {
  return each(call, space::is_nan, ir::Scalar::Bool);
}

Result<Written> sign(const NodeCall& call) {
  return each(
      call,
      [](const ir::Expr& x) {
        const ir::Expr zero = ir::zero_of(x->type);
        const auto one = [&](int value) { return ir::cast(x->type, ir::int_imm(value)); };
        return ir::select(ir::binary(BinaryOp::Lt, x, zero), one(-1),
                          ir::select(ir::binary(BinaryOp::Lt, zero, x), one(1), x));
      },
      call.scalar(0));
}

// x^exponent with one of those that need no logarithm.
Result<Written> power(const NodeCall& call) {
  const double exponent = call.number("exponent");
  const bool whole = exponent == 1 || exponent == 2 || exponent == 3 || exponent == 4;
  const bool plain = exponent == 0.5 || exponent == -0.5 || exponent == -1;
  if (!whole) {
    if (auto right = check_types(call, Takes::Floats); !right) return std::move(right).error();
  }
  return each(
      call,
      [&](const ir::Expr& x) {
        if (!whole && !plain) return space::power(x, ir::float_imm(exponent));
        if (!whole) {
          const ir::Expr root = exponent == -1 ? x : square_root(x);
          return exponent < 0 ? reciprocal(root) : root;
        }
        ir::Expr value = x;
        for (int i = 1; i < static_cast<int>(exponent); ++i) value = value * x;
        return value;
      },
      call.scalar(0));
}

Result<Written> cast(const NodeCall& call) {
  ir::Scalar to;
  if (!ir::parse_scalar(call.word("to"), to)) return invalid("casts to an unknown type");
  return each(
      call,
      [&](const ir::Expr& x) {
        if (to == ir::Scalar::Bool) {
          return ir::unary(UnaryOp::Not, ir::binary(BinaryOp::Eq, x, ir::zero_of(x->type)));
        }
        return x;
      },
      to);
}

constexpr Operator kActivation[] = {
    {"Relu", 1, 1, relu, nullptr},
    {"LeakyRelu", 1, 1, leaky_relu, nullptr, Takes::Floats},
    {"PRelu", 2, 2, parametric_relu, nullptr, Takes::Floats},
    {"Elu", 1, 1, elu, nullptr, Takes::Floats},
    {"Clip", 1, 1, clip, nullptr},
    {"Sigmoid", 1, 1, smooth<space::sigmoid>, nullptr, Takes::Floats},
    {"HardSigmoid", 1, 1, hard_sigmoid, nullptr, Takes::Floats},
    {"Swish", 1, 1, smooth<space::swish>, nullptr, Takes::Floats},
    {"HardSwish", 1, 1, smooth<space::hard_swish>, nullptr, Takes::Floats},
    {"Tanh", 1, 1, smooth<space::hyperbolic_tangent>, nullptr, Takes::Floats},
    {"Erf", 1, 1, smooth<space::error_function>, nullptr, Takes::Floats},
    {"Gelu", 1, 1, smooth<space::gelu>, nullptr, Takes::Floats},
    {"Exp", 1, 1, smooth<space::exponential_to_its_ends>, nullptr, Takes::Floats},
    {"Log", 1, 1, smooth<space::logarithm>, nullptr, Takes::Floats},
    {"Sin", 1, 1, smooth<space::sine>, nullptr, Takes::Floats},
    {"Cos", 1, 1, smooth<space::cosine>, nullptr, Takes::Floats},
    {"Softplus", 1, 1, smooth<space::softplus>, nullptr, Takes::Floats},
    {"Mish", 1, 1, smooth<space::mish>, nullptr, Takes::Floats},
    {"IsNaN", 1, 1, not_a_number, nullptr, Takes::Floats},
    {"Not", 1, 1, negation, nullptr},
    {"Sign", 1, 1, sign, nullptr},
    {"Sqrt", 1, 1, smooth<square_root>, nullptr, Takes::AnyFloat},
    {"Reciprocal", 1, 1, smooth<reciprocal>, nullptr, Takes::Floats},
    {"Softsign", 1, 1, smooth<softsign>, nullptr, Takes::Floats},
    {"Ceil", 1, 1, smooth<ceiling>, nullptr, Takes::Floats},
    {"Round", 1, 1, smooth<rounded>, nullptr, Takes::Floats},
    {"Floor", 1, 1, plain<UnaryOp::Floor>, nullptr, Takes::AnyFloat},
    {"Abs", 1, 1, plain<UnaryOp::Abs>, nullptr},
    {"Neg", 1, 1, plain<UnaryOp::Neg>, nullptr},
    {"Pow", 1, 1, power, nullptr},
    {"Cast", 1, 1, cast, nullptr},
};

}  // namespace

std::span<const Operator> activation_operators() { return kActivation; }

}  // namespace fettle::model
