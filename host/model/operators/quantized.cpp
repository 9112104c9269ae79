// Operators of quantised networks. Those that compute in integers (QLinear…) take what is known
// before the network runs as attributes, and instead of scales the factor that an int32 sum is
// multiplied by: a float32 for all channels or one each, as onnxruntime computes it.
//
//   to, low, high, zero_point   of the output: its type and what it is held to
//   shift                       instead of a factor: sum / 2^shift, halves rounded up
//   x_zero_point, …             of inputs
//
// Inputs of a product: x, w, factor, bias (int32, of the sum's scale), zero points of w, residual
// (of the output's scale, without a zero point).
#include "host/model/operators/sums.h"
#include "host/space/operators/requantize.h"

namespace fettle::model {
namespace {

bool is_byte(ir::Scalar scalar) {
  return scalar == ir::Scalar::Int8 || scalar == ir::Scalar::UInt8;
}

// An input that has one element for all, or one for each place of the axis whose index this is.
Result<ir::Expr> one_or_each(const NodeCall& call, std::size_t input, const ir::Expr& index,
                             std::int64_t extent) {
  const Shape& shape = call.shape(input);
  const std::int64_t count = TensorType{{}, shape}.elements();
  if (count == 1) return element(call, input, std::vector(shape.size(), ir::int_imm(0)));
  if (count != extent || shape.back() != extent) {
    return invalid("has " + std::to_string(count) + " scales or zero points for an axis of " +
                   std::to_string(extent));
  }
  // The extents before it are 1.
  std::vector places(shape.size(), ir::int_imm(0));
  places.back() = index;
  return element(call, input, places);
}

// Such an input of floats, as float32.
Result<ir::Expr> scale_of(const NodeCall& call, std::size_t input, const ir::Expr& index,
                          std::int64_t extent) {
  if (!ir::DataType{call.scalar(input)}.is_float()) return invalid("has a scale of integers");
  auto scale = one_or_each(call, input, index, extent);
  return scale ? widened(*scale) : scale;
}

// Such an input of bytes or int32, as int32.
Result<ir::Expr> zero_point_of(const NodeCall& call, std::size_t input, const ir::Expr& index,
                               std::int64_t extent) {
  if (!is_byte(call.scalar(input)) && call.scalar(input) != ir::Scalar::Int32) {
    return invalid("has a zero point of " + ir::to_string(ir::DataType{call.scalar(input)}));
  }
  auto zero = one_or_each(call, input, index, extent);
  return zero ? widened(*zero) : zero;
}

Result<space::QuantizedRange> range_of(const NodeCall& call) {
  space::QuantizedRange range;
  const std::string to = call.word("to");
  if (to != "int8" && to != "uint8") return unsupported("quantised to " + to);
  range = {to == "int8" ? ir::Scalar::Int8 : ir::Scalar::UInt8, call.integer("low"),
           call.integer("high"), call.integer("zero_point")};
  const std::int64_t least = to == "int8" ? -128 : 0;
  if (range.low < least || range.high > least + 255 || range.low > range.high ||
      range.zero_point < least || range.zero_point > least + 255) {
    return invalid("is held to a range outside its type");
  }
  return range;
}

// The axis that scales and zero points are along.
Result<std::size_t> scaled_axis(const NodeCall& call) {
  if (TensorType{{}, call.shape(1)}.elements() == 1) return std::size_t{0};
  return axis_number(call.integer("axis"), call.shape(0).size());
}

Result<Written> quantize_linear(const NodeCall& call) {
  auto axis = scaled_axis(call);
  if (!axis) return std::move(axis).error();
  const std::string to = call.word("to");
  if (to != "int8" && to != "uint8") return unsupported("to " + to);
  for (const std::size_t i : {0, 1}) {
    const ir::DataType type{call.scalar(i)};
    if (type != ir::kFloat32 && type.scalar != ir::Scalar::Float16) {
      return unsupported("of " + ir::to_string(type));
    }
  }
  const auto axes = axes_of(call.shape(0));
  const auto indices = indices_of(axes);
  const std::int64_t extent = axes[*axis].extent;
  auto scale = scale_of(call, 1, indices[*axis], extent);
  if (!scale) return std::move(scale).error();
  const ir::Expr x = widened(element(call, 0, indices));
  ir::Expr value = space::rounded_to_int32(ir::binary(ir::BinaryOp::Div, x, *scale));
  if (call.has(2)) {
    auto zero = zero_point_of(call, 2, indices[*axis], extent);
    if (!zero) return std::move(zero).error();
    value = value + *zero;
  }
  const std::int64_t low = to == "int8" ? -128 : 0;
  const ir::Scalar type = to == "int8" ? ir::Scalar::Int8 : ir::Scalar::UInt8;
  Written out =
      written(call.add("quantized", axes, {}, space::saturated(value, {type, low, low + 255, 0})));
  out.shape = call.shape(0);
  return out;
}

Result<Written> dequantize_linear(const NodeCall& call) {
  auto axis = scaled_axis(call);
  if (!axis) return std::move(axis).error();
  if (!is_byte(call.scalar(0)) && call.scalar(0) != ir::Scalar::Int32) {
    return unsupported("of " + ir::to_string(ir::DataType{call.scalar(0)}));
  }
  const auto axes = axes_of(call.shape(0));
  const auto indices = indices_of(axes);
  const std::int64_t extent = axes[*axis].extent;
  auto scale = scale_of(call, 1, indices[*axis], extent);
  if (!scale) return std::move(scale).error();
  ir::Expr value = widened(element(call, 0, indices));
  if (call.has(2)) {
    auto zero = zero_point_of(call, 2, indices[*axis], extent);
    if (!zero) return std::move(zero).error();
    value = value - *zero;
  }
  const ir::Expr real = ir::cast(ir::kFloat32, value) * *scale;
  Written out = written(call.add("value", axes, {}, narrowed(real, call.scalar(1))));
  out.shape = call.shape(0);
  return out;
}

Result<void> check_bytes(const NodeCall& call) {
  if (!is_byte(call.scalar(0)) || !is_byte(call.scalar(1))) {
    return invalid("its factors are not of 8 bits");
  }
  return {};
}

// A weight without its zero point, the input `zero` where it is there; `channel` tells its index.
struct Weight {
  const NodeCall& call;
  std::size_t zero;
  std::int64_t channels;
  mutable std::optional<Error> error;

  ir::Expr without_zero(const ir::Expr& weight, const ir::Expr& channel) const {
    if (!call.has(zero)) return widened(weight);
    auto point = zero_point_of(call, zero, channel, channels);
    if (!point) {
      error = std::move(point).error();
      return widened(weight);
    }
    return widened(weight) - *point;
  }
};

// x_zero: null where it is known, as the attribute.
Result<Written> integer_convolution(const NodeCall& call, std::size_t zero,
                                    ir::Expr x_zero = nullptr) {
  if (auto right = check_bytes(call); !right) return std::move(right).error();
  if (call.shape(1).empty()) return invalid("its weight has no axes");
  const Weight weight{call, zero, call.shape(1)[0], {}};
  const std::int64_t known = call.integer("x_zero_point");
  if (!x_zero && known != 0) x_zero = ir::int_imm(known);
  auto sums = convolution_sums(call, x_zero, [&](const ir::Expr& x, const auto& at) {
    return weight.without_zero(x, at[0]);
  });
  if (weight.error) return *weight.error;
  return sums;
}

Result<Written> integer_product(const NodeCall& call, bool transposed, const Taken& left,
                                std::size_t zero) {
  if (auto right = check_bytes(call); !right) return std::move(right).error();
  const Shape& b = call.shape(1);
  const std::size_t channel = b.empty() ? 0 : b.size() - (transposed && b.size() > 1 ? 2 : 1);
  const Weight weight{call, zero, b.size() > 1 ? b[channel] : 1, {}};
  auto sums = matrix_sums(call, transposed, left, [&](const ir::Expr& x, const auto& at) {
    return weight.without_zero(x, at[channel]);
  });
  if (weight.error) return *weight.error;
  return sums;
}

// The last input is the zero point of x, where that is known while the network runs only.
Result<Written> conv_integer(const NodeCall& call) {
  if (!call.has(3)) return integer_convolution(call, 2);
  auto zero = zero_point_of(call, 3, ir::int_imm(0), 1);
  if (!zero) return std::move(zero).error();
  return integer_convolution(call, 2, *zero);
}

// Zero points of the left one: one, or one for each row.
Result<Written> matmul_integer(const NodeCall& call) {
  const Shape& a = call.shape(0);
  std::optional<Error> error;
  const auto left = [&](const ir::Expr& x, const std::vector<ir::Expr>& at) {
    if (!call.has(2)) return widened(x);
    const bool rows = a.size() > 1;
    auto zero = zero_point_of(call, 2, rows ? at[at.size() - 2] : ir::int_imm(0),
                              rows ? a[a.size() - 2] : 1);
    if (!zero) error = zero.error();
    return zero ? widened(x) - *zero : widened(x);
  };
  auto sums = integer_product(call, false, left, 3);
  if (error) return *error;
  return sums;
}

// What follows the sums of a product, whose axis `channel` factors and biases are along.
Result<Written> requantized(const NodeCall& call, const Written& sums, std::size_t channel) {
  auto range = range_of(call);
  if (!range) return std::move(range).error();
  const auto axes = axes_of(sums.shape);
  const auto indices = indices_of(axes);
  const std::int64_t extent = axes[channel].extent;
  ir::Expr value = space::at(sums.stage, indices);
  if (call.has(3)) {
    auto bias = one_or_each(call, 3, indices[channel], extent);
    if (!bias) return std::move(bias).error();
    if (call.scalar(3) != ir::Scalar::Int32) return invalid("its bias is not int32");
    value = value + *bias;
  }
  ir::Expr added;
  if (call.has(5)) {
    if (call.shape(5) != sums.shape || !is_byte(call.scalar(5))) {
      return invalid("its residual does not fit");
    }
    added = widened(element(call, 5, indices));
  }
  ir::Expr result;
  if (call.attributes().contains("shift")) {
    const std::int64_t bits = call.integer("shift");
    if (bits < 0 || bits > 30) return invalid("its shift is not 0 to 30");
    result = space::shifted(value, bits, added, *range);
  } else {
    if (!call.has(2) || call.scalar(2) != ir::Scalar::Float32) return invalid("lacks its factor");
    auto factor = one_or_each(call, 2, indices[channel], extent);
    if (!factor) return std::move(factor).error();
    result = space::quantized_sum(ir::cast(ir::kFloat32, value) * *factor, added, *range);
  }
  Written out = written(call.add("value", axes, {}, result));
  out.shape = sums.shape;
  return out;
}

Result<Written> qlinear_conv(const NodeCall& call) {
  auto sums = integer_convolution(call, 4);
  if (!sums) return sums;
  return requantized(call, *sums, 1);
}

Result<Written> qlinear_matmul(const NodeCall& call) {
  const std::int64_t zero = call.integer("x_zero_point");
  const auto left = [&](const ir::Expr& x, const auto&) { return widened(x) - ir::int_imm(zero); };
  auto sums = integer_product(call, call.integer("transB") != 0, left, 4);
  if (!sums) return sums;
  return requantized(call, *sums, sums->shape.empty() ? 0 : sums->shape.size() - 1);
}

// ((a - its zero point) times_a + (b - its zero point) times_b) factor; whole numbers and a power
// of two, so that only the sum's own rounding to float32, at 2^24, is between it and the exact one.
Result<Written> qlinear_add(const NodeCall& call) {
  if (auto right = check_bytes(call); !right) return std::move(right).error();
  auto range = range_of(call);
  if (!range) return std::move(range).error();
  auto shape = broadcast({call.shape(0), call.shape(1)});
  if (!shape) return std::move(shape).error();
  const auto axes = axes_of(*shape);
  const auto part = [&](std::size_t i, const char* zero, const char* times) {
    return (widened(broadcast_element(call, i, axes)) - ir::int_imm(call.integer(zero))) *
           ir::int_imm(call.integer(times));
  };
  const ir::Expr sum = part(0, "a_zero_point", "times_a") + part(1, "b_zero_point", "times_b");
  const ir::Expr real = ir::cast(ir::kFloat32, sum) * ir::float_imm(call.number("factor"));
  Written out = written(call.add("value", axes, {}, space::quantized(real, *range)));
  out.shape = *shape;
  return out;
}

// The sum over the spatial axes of an image times a factor: its mean, at another scale.
Result<Written> qlinear_global_average_pool(const NodeCall& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 3 || !is_byte(call.scalar(0))) return invalid("its input is no image of bytes");
  auto range = range_of(call);
  if (!range) return std::move(range).error();
  std::vector<space::Axis> kept, reduced;
  std::vector<ir::Expr> at;
  for (std::size_t d = 0; d < x.size(); ++d) {
    const space::Axis axis = space::make_axis((d < 2 ? "d" : "r") + std::to_string(d), x[d]);
    (d < 2 ? kept : reduced).push_back(axis);
    at.push_back(ir::var_ref(axis.var));
  }
  const ir::Expr value = widened(element(call, 0, at)) - ir::int_imm(call.integer("x_zero_point"));
  const space::Stage sum = call.add("sum", kept, reduced, value);
  const auto axes = axes_of({x[0], x[1]});
  const ir::Expr real = ir::cast(ir::kFloat32, space::at(sum, indices_of(axes))) *
                        ir::float_imm(call.number("factor"));
  Written out = written(call.add("value", axes, {}, space::quantized(real, *range)));
  out.shape.resize(x.size(), 1);
  return out;
}

constexpr Operator kQuantized[] = {
    {"QuantizeLinear", 2, 3, quantize_linear, nullptr},
    {"DequantizeLinear", 2, 3, dequantize_linear, nullptr},
    {"ConvInteger", 2, 4, conv_integer, nullptr},
    {"MatMulInteger", 2, 4, matmul_integer, nullptr},
    {"QLinearConv", 2, 6, qlinear_conv, nullptr},
    {"QLinearMatMul", 2, 6, qlinear_matmul, nullptr},
    {"QLinearAdd", 2, 2, qlinear_add, nullptr},
    {"QLinearGlobalAveragePool", 1, 1, qlinear_global_average_pool, nullptr},
};

}  // namespace

std::span<const Operator> quantized_operators() { return kQuantized; }

}  // namespace fettle::model
