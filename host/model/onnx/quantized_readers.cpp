// Operators of quantised networks. Those that compute in integers are made of numbers that are
// known before the network runs: scales become one factor, as onnxruntime computes it in float32.
#include <numeric>

#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

std::int64_t lowest(ir::Scalar scalar) { return scalar == ir::Scalar::UInt8 ? 0 : -128; }

// The type of a zero point, or what is named; uint8 without.
Outputs quantize(const NodeReader& node) {
  if (node.integer("block_size", 0) != 0) return node.unsupported("scales of blocks");
  ir::Scalar to = node.has_input(2) ? node.type(2).scalar : ir::Scalar::UInt8;
  if (!node.has_input(2) && node.integer("output_dtype", 0) != 0) {
    auto named = scalar_of(static_cast<int>(node.integer("output_dtype", 0)));
    if (!named) return std::move(named).error();
    to = *named;
  }
  return one(node, {{"axis", node.integer("axis", 1)}, {"to", ir::to_string(ir::DataType{to})}});
}

Outputs dequantize(const NodeReader& node) {
  if (node.integer("block_size", 0) != 0) return node.unsupported("scales of blocks");
  return one(node, {{"axis", node.integer("axis", 1)}});
}

// One zero point, an input that may be absent.
Result<std::int64_t> zero_point(const NodeReader& node, const char* name, std::size_t input) {
  if (!node.has_input(input)) return std::int64_t{0};
  auto list = node.parameter(name, input, {});
  if (!list) return std::move(list).error();
  if (list->size() != 1) return node.unsupported(std::string("its ") + name + " is not one number");
  return list->front();
}

// x_scale w_scale / y_scale, as inputs x, x + 3 and y have them.
Result<ValueId> factor(const NodeReader& node, std::size_t x, std::size_t y) {
  auto x_scale = node.number_list("x_scale", x), w_scale = node.number_list("w_scale", x + 3),
       y_scale = node.number_list("y_scale", y);
  for (auto* scale : {&x_scale, &w_scale, &y_scale}) {
    if (!*scale) return std::move(*scale).error();
  }
  if (x_scale->size() != 1 || y_scale->size() != 1) {
    return node.unsupported("a scale for each row of x or y");
  }
  OnnxTensor tensor{{ir::Scalar::Float32, {static_cast<std::int64_t>(w_scale->size())}}, {}};
  for (const double scale : *w_scale) {
    const float both = static_cast<float>(x_scale->front()) * static_cast<float>(scale);
    const float each = both / static_cast<float>(y_scale->front());
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&each);
    tensor.bytes.insert(tensor.bytes.end(), bytes, bytes + sizeof each);
  }
  return node.constant(std::move(tensor));
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, perhaps a bias, with the attributes that
// the operator has besides.
Outputs qlinear(const NodeReader& node, json attributes) {
  for (const std::size_t input : {0u, 1u, 3u, 4u, 6u, 7u}) {
    if (!node.has_input(input)) return node.invalid("lacks an input");
  }
  auto x_zero = zero_point(node, "x_zero_point", 2), y_zero = zero_point(node, "y_zero_point", 7);
  if (!x_zero) return std::move(x_zero).error();
  if (!y_zero) return std::move(y_zero).error();
  auto times = factor(node, 1, 6);
  if (!times) return std::move(times).error();
  const ir::Scalar to = node.type(7).scalar;
  attributes.update({{"x_zero_point", *x_zero},
                     {"zero_point", *y_zero},
                     {"to", ir::to_string(ir::DataType{to})},
                     {"low", lowest(to)},
                     {"high", lowest(to) + 255}});
  const ValueId bias = node.has_input(8) ? node.input(8) : kNoValue;
  const ValueId w_zero = node.has_input(5) ? node.input(5) : kNoValue;
  return one(node, node.op(), std::move(attributes),
             {node.input(0), node.input(3), *times, bias, w_zero});
}

Outputs qlinear_conv(const NodeReader& node) {
  auto attributes = convolution_window(node, 3);
  if (!attributes) return std::move(attributes).error();
  return qlinear(node, std::move(*attributes));
}

Outputs qlinear_matmul(const NodeReader& node) { return qlinear(node, {{"transB", 0}}); }

Outputs conv_integer(const NodeReader& node) {
  auto attributes = convolution_window(node, 1);
  if (!attributes) return std::move(attributes).error();
  const bool of_the_run = node.has_input(2) && !node.numbers(2);
  std::int64_t known = 0;
  if (!of_the_run) {
    auto zero = zero_point(node, "x_zero_point", 2);
    if (!zero) return std::move(zero).error();
    known = *zero;
  }
  (*attributes)["x_zero_point"] = known;
  std::vector<ValueId> inputs = {node.input(0), node.input(1), node.input(3)};
  if (of_the_run) inputs.push_back(node.input(2));
  return one(node, node.op(), std::move(*attributes), std::move(inputs));
}

// A scale and a zero point of uint8 by the smallest and largest element there is, and 0.
Outputs quantize_by_what_is_there(const NodeReader& node) {
  Composer make(node);
  const ValueId x = node.input(0);
  if (node.type(0).scalar != ir::Scalar::Float32) return node.invalid("its input is not float32");
  const auto number = [&](double value) { return make.number(value, ir::Scalar::Float32); };
  NodeReader::List all(node.shape(0).size());
  std::iota(all.begin(), all.end(), 0);
  const auto bound = [&](const char* reduce, const char* choose) {
    const ValueId extreme = all.empty() ? x : make.reduce(reduce, x, all);
    return make(choose, {make.reshape(extreme, {}), number(0)});
  };
  const ValueId low = bound("ReduceMin", "Min"), high = bound("ReduceMax", "Max");
  const ValueId width = make("Div", {make("Sub", {high, low}), number(255)});
  // All are 0: any scale will do.
  const ValueId nothing = make("Equal", {width, number(0)});
  const ValueId scale = make("Where", {nothing, number(1), width});
  const ValueId place = make("Round", {make("Div", {make("Sub", {number(0), low}), scale})});
  const ValueId zero =
      make.cast(make("Clip", {place}, {{"min", 0}, {"max", 255}}), ir::Scalar::UInt8);
  const ValueId y = make("QuantizeLinear", {x, scale, zero}, {{"axis", 0}, {"to", "uint8"}});
  return make.end({y, scale, zero});
}

Outputs same(const NodeReader& node) { return one(node); }

constexpr ReaderRow kQuantizedReaders[] = {
    {"QuantizeLinear", quantize},  {"DequantizeLinear", dequantize},
    {"QLinearConv", qlinear_conv}, {"QLinearMatMul", qlinear_matmul},
    {"ConvInteger", conv_integer}, {"DynamicQuantizeLinear", quantize_by_what_is_there},
    {"MatMulInteger", same},       {"Round", same},
};

}  // namespace

std::span<const ReaderRow> quantized_readers() { return kQuantizedReaders; }

}  // namespace fettle::model
