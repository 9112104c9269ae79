// Functions that are made of others.
#include <cmath>
#include <limits>
#include <numeric>

#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

// Its sum would be lost in float32 where all are far below 0: the largest is taken off first.
struct Exponentials {
  ValueId off, sum;  // x without its largest; of what its exponentials come to
};
Exponentials exponentials(Composer& make, ValueId x, const List& axes) {
  const ValueId largest = make.reduce("ReduceMax", x, axes);
  const ValueId off = make("Sub", {x, largest});
  return {off, make.reduce("ReduceSum", make("Exp", {off}), axes)};
}

Outputs log_softmax(const NodeReader& node) {
  return along_axis(node, [](Composer& make, ValueId x, std::int64_t axis) {
    const Exponentials of = exponentials(make, x, {axis});
    return make("Sub", {of.off, make("Log", {of.sum})});
  });
}

// The axes of a reduction: from opset 18 on, and of ReduceSum from 13 on, an input.
struct Reduced {
  List axes;      // from 0
  bool keep;      // them with extent 1
  bool identity;  // none are given, and that means none
};
Result<Reduced> reduced_axes(const NodeReader& node) {
  auto axes = node.parameter("axes", 1, {});
  if (!axes) return std::move(axes).error();
  const auto rank = std::ssize(node.shape(0));
  Reduced out{*axes, node.integer("keepdims", 1) != 0, false};
  for (std::int64_t& axis : out.axes) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return node.invalid("has no such axis");
  }
  if (!out.axes.empty()) return out;
  out.identity = node.integer("noop_with_empty_axes", 0) != 0;
  out.axes.resize(static_cast<std::size_t>(rank));
  std::iota(out.axes.begin(), out.axes.end(), 0);
  return out;
}
ValueId without_axes(Composer& make, ValueId value, const Reduced& of) {
  return of.keep ? value : make("Squeeze", {value}, {{"axes", of.axes}});
}

// The value of ours whose sum it is, and what is made of the sum.
Outputs reduced_sum(const NodeReader& node, const char* before, const char* after) {
  auto of = reduced_axes(node);
  if (!of) return std::move(of).error();
  Composer make(node);
  ValueId value = before ? make(before, {node.input(0)}) : node.input(0);
  if (!of->identity) value = without_axes(make, make.reduce("ReduceSum", value, of->axes), *of);
  return make.end({after ? make(after, {value}) : value});
}
Outputs reduce_l1(const NodeReader& node) { return reduced_sum(node, "Abs", nullptr); }
Outputs reduce_log_sum(const NodeReader& node) { return reduced_sum(node, nullptr, "Log"); }

Outputs reduce_log_sum_exp(const NodeReader& node) {
  auto of = reduced_axes(node);
  if (!of) return std::move(of).error();
  if (of->identity) return one(node, "Identity", json::object(), {node.input(0)});
  Composer make(node);
  // An infinite one is not taken off: that would make no number of it.
  const bool half = node.type(0).scalar == ir::Scalar::Float16;
  const double most = half ? 65504 : std::numeric_limits<float>::max();
  const ValueId largest = make("Clip", {make.reduce("ReduceMax", node.input(0), of->axes)},
                               {{"min", -most}, {"max", most}});
  const ValueId sum =
      make.reduce("ReduceSum", make("Exp", {make("Sub", {node.input(0), largest})}), of->axes);
  return make.end({without_axes(make, make("Add", {make("Log", {sum}), largest}), *of)});
}

// Of what is known: the elements of a shape.
Outputs reduce_product(const NodeReader& node) {
  const auto numbers = node.numbers(0);
  if (!numbers) return node.unsupported("its input is not known before the network runs");
  auto of = reduced_axes(node);
  if (!of) return std::move(of).error();
  const bool all = static_cast<std::int64_t>(of->axes.size()) == std::ssize(node.shape(0));
  if (!all || of->identity) return node.unsupported("a product along some axes");
  const double product =
      std::accumulate(numbers->begin(), numbers->end(), 1.0, std::multiplies<>());
  if (std::fabs(product) > static_cast<double>(NodeReader::kMost)) {
    return node.unsupported("a product of more than 2^31");
  }
  Composer make(node);
  TensorType type{node.type(0).scalar, {}};
  if (of->keep) type.shape.assign(of->axes.size(), 1);
  return make.end({make.constant({product}, std::move(type))});
}

Outputs gelu(const NodeReader& node) {
  const std::string by = node.word("approximate", "none");
  if (by == "none") return one(node, "Gelu", json::object(), {node.input(0)});
  if (by != "tanh") return node.unsupported("its approximation '" + by + "'");
  Composer make(node);
  return make.end({make.gelu_by_tanh(node.input(0))});
}

// max(0, x) + min(0, alpha (e^(x / alpha) - 1))
Outputs celu(const NodeReader& node) {
  const double alpha = node.number("alpha", 1);
  if (!(std::fabs(alpha) > 0)) return node.invalid("its alpha is 0 or no number");
  Composer make(node);
  const ValueId x = node.input(0);
  const auto number = [&](double value) { return make.number(value, node.type(0).scalar); };
  const ValueId power = make("Exp", {make("Mul", {x, number(1 / alpha)})});
  const ValueId below = make("Mul", {make("Sub", {power, number(1)}), number(alpha)});
  return make.end({make("Add", {make("Relu", {x}), make("Min", {below, number(0)})})});
}

Outputs thresholded_relu(const NodeReader& node) {
  Composer make(node);
  const auto number = [&](double value) { return make.number(value, node.type(0).scalar); };
  const ValueId above = make("Greater", {node.input(0), number(node.number("alpha", 1))});
  return make.end({make("Where", {above, node.input(0), number(0)})});
}

Outputs shrink(const NodeReader& node) {
  const double bias = node.number("bias", 0), bound = node.number("lambd", 0.5);
  if (!ir::DataType{node.type(0).scalar}.is_float()) return node.unsupported("of whole numbers");
  Composer make(node);
  const ValueId x = node.input(0);
  const auto number = [&](double value) { return make.number(value, node.type(0).scalar); };
  const ValueId high = make("Greater", {x, number(bound)}), low = make("Less", {x, number(-bound)});
  const ValueId above = make("Where", {high, make("Sub", {x, number(bias)}), number(0)});
  return make.end({make("Where", {low, make("Add", {x, number(bias)}), above})});
}

Outputs tangent(const NodeReader& node) {
  Composer make(node);
  return make.end({make("Div", {make("Sin", {node.input(0)}), make("Cos", {node.input(0)})})});
}

Outputs is_infinite(const NodeReader& node) {
  Composer make(node);
  const auto equals = [&](double value) {
    return make("Equal", {node.input(0), make.number(value, node.type(0).scalar)});
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool above = node.integer("detect_positive", 1) != 0,
             below = node.integer("detect_negative", 1) != 0;
  if (!above && !below) {
    const ValueId same = make("Equal", {node.input(0), node.input(0)});
    return make.end({make("And", {same, make("Not", {same})})});
  }
  if (!above || !below) return make.end({equals(above ? kInfinity : -kInfinity)});
  return make.end({make("Or", {equals(kInfinity), equals(-kInfinity)})});
}

Outputs cast_like(const NodeReader& node) {
  if (!node.has_input(1)) return node.invalid("lacks its second input");
  const ir::DataType to{node.type(1).scalar};
  return one(node, "Cast", {{"to", ir::to_string(to)}}, {node.input(0)});
}

constexpr double kMostMadeUp = 1 << 24;  // elements of a constant that a file only describes

Outputs range(const NodeReader& node) {
  std::vector<double> ends;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto numbers = node.numbers(i);
    if (!numbers) return node.unsupported("its ends are not known before the network runs");
    if (numbers->size() != 1) return node.invalid("an end that is not one number");
    ends.push_back(numbers->front());
  }
  const double count = std::ceil((ends[1] - ends[0]) / ends[2]);
  if (!(count >= 1)) return node.unsupported("a range of nothing");
  if (count > kMostMadeUp) return node.unsupported("a range of more than 2^24 numbers");
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = ends[0] + static_cast<double>(i) * ends[2];
  }
  Composer make(node);
  return make.end(
      {make.constant(values, {node.type(0).scalar, {static_cast<std::int64_t>(count)}})});
}

Outputs ones_on_a_diagonal(const NodeReader& node) {
  const List shape = node.shape(0);
  if (shape.size() != 2) return node.invalid("its input is no matrix");
  if (static_cast<double>(shape[0]) * static_cast<double>(shape[1]) > kMostMadeUp) {
    return node.unsupported("a matrix of more than 2^24 elements");
  }
  ir::Scalar scalar = node.type(0).scalar;
  if (node.has("dtype")) {
    auto named = scalar_of(static_cast<int>(node.integer("dtype", 0)));
    if (!named) return std::move(named).error();
    scalar = *named;
  }
  const std::int64_t right = node.integer("k", 0);
  std::vector<double> values(static_cast<std::size_t>(shape[0] * shape[1]));
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    for (std::int64_t column = 0; column < shape[1]; ++column) {
      values[static_cast<std::size_t>(row * shape[1] + column)] = column - row == right ? 1 : 0;
    }
  }
  Composer make(node);
  return make.end({make.constant(values, {scalar, shape})});
}

constexpr ReaderRow kComposedReaders[] = {
    {"CastLike", cast_like},
    {"Celu", celu},
    {"EyeLike", ones_on_a_diagonal},
    {"Gelu", gelu},
    {"IsInf", is_infinite},
    {"LogSoftmax", log_softmax},
    {"Range", range},
    {"ReduceL1", reduce_l1},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce_log_sum_exp},
    {"ReduceProd", reduce_product},
    {"Shrink", shrink},
    {"Tan", tangent},
    {"ThresholdedRelu", thresholded_relu},
};

}  // namespace

std::span<const ReaderRow> composed_readers() { return kComposedReaders; }

}  // namespace fettle::model
