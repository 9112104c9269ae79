// Operators of onnxruntime's own: those that its quantisation writes, and what its optimiser joins.
// The quantised ones become what they are computed from, between DequantizeLinear and
// QuantizeLinear, as in files that have those; passes/quantized.h finds what lies between.
#include "host/model/onnx/composer.h"

namespace fettle::model {
namespace {

using List = NodeReader::List;

class Quantized {
 public:
  explicit Quantized(const NodeReader& node) : node_(node), make(node) {}

  // The float that the inputs `x`, its scale and its zero point are.
  ValueId real(std::size_t x, std::int64_t axis = 0) {
    return make("DequantizeLinear", with_zero_point(node_.input(x), x + 1), {{"axis", axis}});
  }
  // By the scale and zero point that start at this input; of the type of x where that has none.
  Outputs stored(ValueId value, std::size_t scale, std::size_t x = 0) {
    const std::size_t typed = node_.has_input(scale + 1) ? scale + 1 : x;
    const ir::DataType to{node_.type(typed).scalar};
    return make.end({make("QuantizeLinear", with_zero_point(value, scale),
                          {{"axis", 0}, {"to", ir::to_string(to)}})});
  }

 private:
  const NodeReader& node_;

  std::vector<ValueId> with_zero_point(ValueId value, std::size_t scale) const {
    std::vector<ValueId> inputs = {value, node_.input(scale)};
    if (node_.has_input(scale + 1)) inputs.push_back(node_.input(scale + 1));
    return inputs;
  }

 public:
  Composer make;
};

Outputs of_two(const NodeReader& node, const char* op) {
  Quantized q(node);
  return q.stored(q.make(op, {q.real(0), q.real(3)}), 6);
}
Outputs add(const NodeReader& node) { return of_two(node, "Add"); }
Outputs multiply(const NodeReader& node) { return of_two(node, "Mul"); }

Outputs sigmoid(const NodeReader& node) {
  Quantized q(node);
  return q.stored(q.make("Sigmoid", {q.real(0)}), 3);
}
Outputs leaky_relu(const NodeReader& node) {
  Quantized q(node);
  const ValueId x = q.real(0);
  return q.stored(q.make("LeakyRelu", {x}, {{"alpha", node.number("alpha", 0.01)}}), 3);
}
Outputs softmax(const NodeReader& node) {
  if (node.integer("opset", 13) < 13) return node.unsupported("the meaning before opset 13");
  Quantized q(node);
  const ValueId x = q.real(0);
  return q.stored(q.make("Softmax", {x}, {{"axis", node.integer("axis", -1)}}), 3);
}

Outputs average_pool(const NodeReader& node) {
  if (node.integer("channels_last", 0) != 0) return node.unsupported("channels at the end");
  auto attributes = pooling_window(node);
  if (!attributes) return std::move(attributes).error();
  (*attributes)["count_include_pad"] = node.integer("count_include_pad", 0);
  Quantized q(node);
  const ValueId x = q.real(0);
  return q.stored(q.make("AveragePool", {x}, std::move(*attributes)), 3);
}
Outputs global_average_pool(const NodeReader& node) {
  if (node.integer("channels_last", 0) != 0) return node.unsupported("channels at the end");
  if (node.shape(0).size() < 3) return node.invalid("its input has no spatial axes");
  Quantized q(node);
  List axes;
  for (std::int64_t d = 2; d < std::ssize(node.shape(0)); ++d) axes.push_back(d);
  return q.stored(q.make.reduce("ReduceMean", q.real(0), axes), 3);
}

// A scale and a zero point of the output, then each input with its own.
Outputs concat(const NodeReader& node) {
  if (node.inputs() < 5 || node.inputs() % 3 != 2)
    return node.invalid("its inputs are not by three");
  Quantized q(node);
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i < node.inputs(); i += 3) parts.push_back(q.real(i));
  return q.stored(q.make("Concat", parts, {{"axis", node.integer("axis", 0)}}), 0, 2);
}

// a, b, each with scale and zero point, perhaps a bias of int32, and the output's; without that it
// is float32.
Outputs gemm(const NodeReader& node) {
  Quantized q(node);
  const double alpha = node.number("alpha", 1);
  const std::int64_t trans_b = node.integer("transB", 0);
  std::vector<ValueId> inputs = {q.real(0), q.real(3, trans_b != 0 ? 0 : 1)};
  if (node.has_input(6)) {
    auto a_scale = node.number_list("a_scale", 1), b_scale = node.number_list("b_scale", 4);
    if (!a_scale) return std::move(a_scale).error();
    if (!b_scale) return std::move(b_scale).error();
    if (a_scale->size() != 1) return node.unsupported("a scale for each row of a");
    std::vector<double> both;
    for (const double scale : *b_scale) both.push_back(alpha * a_scale->front() * scale);
    TensorType type{ir::Scalar::Float32, {}};
    if (both.size() > 1) type.shape = {std::ssize(both)};
    const ValueId scale = q.make.constant(both, std::move(type));
    inputs.push_back(q.make("DequantizeLinear", {node.input(6), scale},
                            {{"axis", std::ssize(node.shape(6)) - 1}}));
  }
  const ValueId value = q.make("Gemm", std::move(inputs),
                               {{"alpha", alpha},
                                {"beta", 1.0},
                                {"transA", node.integer("transA", 0)},
                                {"transB", trans_b}});
  return node.has_input(7) ? q.stored(value, 7) : q.make.end({value});
}

Outputs quantize(const NodeReader& node) { return find_reader("QuantizeLinear")(node); }
Outputs dequantize(const NodeReader& node) { return find_reader("DequantizeLinear")(node); }

Outputs gelu(const NodeReader& node) {
  Composer make(node);
  const ValueId x = node.has_input(1) ? make("Add", {node.input(0), node.input(1)}) : node.input(0);
  return make.end({make("Gelu", {x})});
}
Outputs fast_gelu(const NodeReader& node) {
  Composer make(node);
  const ValueId x = node.has_input(1) ? make("Add", {node.input(0), node.input(1)}) : node.input(0);
  return make.end({make.gelu_by_tanh(x)});
}
Outputs quick_gelu(const NodeReader& node) {
  Composer make(node);
  const ValueId alpha = make.number(node.number("alpha", 1.702), node.type(0).scalar);
  const ValueId gate = make("Sigmoid", {make("Mul", {node.input(0), alpha})});
  return make.end({make("Mul", {node.input(0), gate})});
}

// The norm of what three inputs sum up to, and at last that sum.
Outputs skip_layer_normalization(const NodeReader& node) {
  Composer make(node);
  ValueId sum = make("Add", {node.input(0), node.input(1)});
  if (node.has_input(4)) sum = make("Add", {sum, node.input(4)});
  std::vector<ValueId> inputs = {sum, node.input(2)};
  if (node.has_input(3)) inputs.push_back(node.input(3));
  const ValueId value = make("LayerNormalization", std::move(inputs),
                             {{"axis", -1}, {"epsilon", node.number("epsilon", 1e-12)}});
  return make.end({value, kNoValue, kNoValue, sum});
}

constexpr ReaderRow kOnnxruntimeReaders[] = {
    {"com.microsoft.BiasGelu", gelu},
    {"com.microsoft.DequantizeLinear", dequantize},
    {"com.microsoft.FastGelu", fast_gelu},
    {"com.microsoft.Gelu", gelu},
    {"com.microsoft.QGemm", gemm},
    {"com.microsoft.QLinearAdd", add},
    {"com.microsoft.QLinearAveragePool", average_pool},
    {"com.microsoft.QLinearConcat", concat},
    {"com.microsoft.QLinearGlobalAveragePool", global_average_pool},
    {"com.microsoft.QLinearLeakyRelu", leaky_relu},
    {"com.microsoft.QLinearMul", multiply},
    {"com.microsoft.QLinearSigmoid", sigmoid},
    {"com.microsoft.QLinearSoftmax", softmax},
    {"com.microsoft.QuantizeLinear", quantize},
    {"com.microsoft.QuickGelu", quick_gelu},
    {"com.microsoft.SkipLayerNormalization", skip_layer_normalization},
};

}  // namespace

std::span<const ReaderRow> onnxruntime_readers() { return kOnnxruntimeReaders; }

}  // namespace fettle::model
