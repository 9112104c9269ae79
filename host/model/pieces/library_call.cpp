// Nodes as operators of the library (library_call.h).
#include "host/model/pieces/library_call.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "host/space/operators/tail.h"

namespace fettle::model {
namespace {

using nlohmann::json;
using Call = std::optional<LibraryCall>;

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                         shape.begin() + static_cast<std::ptrdiff_t>(end), std::int64_t{1},
                         std::multiplies<>());
}

bool constant(const Graph& graph, ValueId id) { return graph.values[id].constant != nullptr; }

// stride, pad and the image's fields of a window over two axes with as much padding behind as
// before.
std::optional<json> image_window(const Graph& graph, const Node& node) {
  const TensorType& x = graph.type(node.inputs[0]);
  const Shape pads = node.attributes.at("pads"), dilations = node.attributes.at("dilations");
  if (x.shape.size() != 4 || pads[0] != pads[2] || pads[1] != pads[3]) return std::nullopt;
  return json{{"layout", "NHWC"},
              {"dtype", ir::to_string(ir::DataType{x.scalar})},
              {"batch", x.shape[0]},
              {"height", x.shape[2]},
              {"width", x.shape[3]},
              {"stride", node.attributes.at("strides")},
              {"pad", Shape{pads[0], pads[1]}}};
}

ValueId input_of(const Node& node, std::size_t i) {
  return i < node.inputs.size() ? node.inputs[i] : kNoValue;
}

// The library's biases are float32 beside float16: one that is known is converted.
bool takes_bias(const Graph& graph, ValueId x, ValueId bias) {
  return bias == kNoValue || graph.type(x).scalar != ir::Scalar::Float16 || constant(graph, bias);
}

void add_bias(LibraryCall& call, ValueId bias) {
  if (bias == kNoValue) return;
  call.fields["tail"].push_back("bias");
  call.inputs.push_back({bias, {}});
}

Call convolution(const Graph& graph, const Node& node, ValueId bias) {
  auto fields = image_window(graph, node);
  const Shape& weight = graph.type(node.inputs[1]).shape;
  if (!fields || !constant(graph, node.inputs[1])) return std::nullopt;
  if (!takes_bias(graph, node.inputs[0], bias)) return std::nullopt;
  const std::int64_t channels = graph.type(node.inputs[0]).shape[1];
  const std::int64_t groups = node.attributes.at("group");
  (*fields)["kernel"] = Shape{weight[2], weight[3]};
  (*fields)["dilation"] = node.attributes.at("dilations");
  if (groups > 1 && groups == channels && weight[0] == channels) {
    (*fields)["op"] = "depthwise_conv2d";
    (*fields)["channels"] = channels;
  } else {
    (*fields)["op"] = "conv2d";
    (*fields)["in_channels"] = channels;
    (*fields)["out_channels"] = weight[0];
    (*fields)["groups"] = groups;
  }
  (*fields)["tail"] = json::array();
  LibraryCall call{std::move(*fields),
                   {{node.inputs[0], kChannelsLast}, {node.inputs[1], kAcrossLast}},
                   kChannelsLast};
  add_bias(call, bias);
  return call;
}

LibraryCall of_image(json fields, ValueId image) {
  return {std::move(fields), {{image, kChannelsLast}}, kChannelsLast};
}

LibraryCall global_mean(const Graph& graph, ValueId image) {
  const TensorType& x = graph.type(image);
  return of_image({{"op", "global_avg_pool2d"},
                   {"layout", "NHWC"},
                   {"dtype", ir::to_string(ir::DataType{x.scalar})},
                   {"batch", x.shape[0]},
                   {"height", x.shape[2]},
                   {"width", x.shape[3]},
                   {"channels", x.shape[1]},
                   {"tail", json::array()}},
                  image);
}

Call pool(const Graph& graph, const Node& node) {
  auto call = image_window(graph, node);
  if (!call || node.attributes.at("dilations") != json(Shape{1, 1})) return std::nullopt;
  const Shape& x = graph.type(node.inputs[0]).shape;
  const Shape& y = graph.type(node.outputs[0]).shape;
  const Shape kernel = node.attributes.at("kernel_shape"), strides = node.attributes.at("strides");
  const Shape pads = node.attributes.at("pads");
  for (std::size_t d = 0; d < 2; ++d) {  // rounded up it would be another operator
    if (y[2 + d] != (x[2 + d] + 2 * pads[d] - kernel[d]) / strides[d] + 1) return std::nullopt;
  }
  const bool whole = kernel == Shape{x[2], x[3]} && pads == Shape(4, 0);
  if (node.op == "AveragePool" && whole) return global_mean(graph, node.inputs[0]);
  (*call)["op"] = node.op == "MaxPool" ? "max_pool2d" : "avg_pool2d";
  (*call)["channels"] = x[1];
  (*call)["kernel"] = kernel;
  (*call)["tail"] = json::array();
  if (node.op != "MaxPool") (*call)["count_include_pad"] = node.attributes.at("count_include_pad");
  return of_image(std::move(*call), node.inputs[0]);
}

Call spatial_mean(const Graph& graph, const Node& node) {
  const TensorType& x = graph.type(node.inputs[0]);
  if (x.shape.size() != 4 || node.attributes.at("axes") != json(Shape{2, 3}) ||
      node.attributes.at("keepdims") != 1) {
    return std::nullopt;
  }
  return global_mean(graph, node.inputs[0]);
}

LibraryCall dense(const TensorType& x, std::int64_t rows, std::int64_t from, std::int64_t to,
                  Operand data, Operand weight) {
  return {{{"op", "dense"},
           {"dtype", ir::to_string(ir::DataType{x.scalar})},
           {"batch", rows},
           {"in_features", from},
           {"out_features", to},
           {"tail", json::array()}},
          {std::move(data), std::move(weight)},
          {}};
}

Call gemm(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.inputs[0]), &y = graph.type(node.outputs[0]);
  const json& a = node.attributes;
  if (a.at("alpha") != 1.0 || a.at("beta") != 1.0 || a.at("transA") != 0) return std::nullopt;
  if (!constant(graph, node.inputs[1])) return std::nullopt;
  const Order weight = a.at("transB") != 0 ? Order{1, 0} : Order{};
  LibraryCall call =
      dense(x, y.shape[0], x.shape[1], y.shape[1], {node.inputs[0], {}}, {node.inputs[1], weight});
  if (node.inputs.size() > 2) {
    const TensorType& added = graph.type(node.inputs[2]);  // a row, not a column as long as one
    if (added.elements() != y.shape[1] || added.shape.empty() || added.shape.back() != y.shape[1]) {
      return std::nullopt;
    }
    if (!takes_bias(graph, node.inputs[0], node.inputs[2])) return std::nullopt;
    add_bias(call, node.inputs[2]);
  }
  return call;
}

Call matmul(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.inputs[0]), &w = graph.type(node.inputs[1]);
  const std::size_t rank = x.shape.size();
  if (rank < 2 || w.shape.size() < 2) return std::nullopt;
  const std::int64_t k = x.shape[rank - 1], n = w.shape.back();
  if (w.shape.size() == 2 && constant(graph, node.inputs[1])) {
    return dense(x, product(x.shape, 0, rank - 1), k, n, {node.inputs[0], {}},
                 {node.inputs[1], {}});
  }
  if (w.shape.size() != rank || !std::equal(w.shape.begin(), w.shape.end() - 2, x.shape.begin())) {
    return std::nullopt;
  }
  return LibraryCall{{{"op", "batch_matmul"},
                      {"dtype", ir::to_string(ir::DataType{x.scalar})},
                      {"batch", product(x.shape, 0, rank - 2)},
                      {"m", x.shape[rank - 2]},
                      {"n", n},
                      {"k", k},
                      {"tail", json::array()}},
                     {{node.inputs[0], {}}, {node.inputs[1], {}}},
                     {}};
}

Call quantized_product(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.inputs[0]), &w = graph.type(node.inputs[1]);
  if (x.shape.size() < 2 || w.shape.size() != 2 || !constant(graph, node.inputs[1])) {
    return std::nullopt;
  }
  const bool flipped = node.attributes.at("transB") != 0;
  LibraryCall call =
      dense(x, product(x.shape, 0, x.shape.size() - 1), x.shape.back(), w.shape[flipped ? 0 : 1],
            {node.inputs[0], {}}, {node.inputs[1], flipped ? Order{1, 0} : Order{}});
  add_bias(call, input_of(node, 3));
  return call;
}

// What brings the sums of a product of int8 back to int8 (operators/quantized.cpp), as steps of its
// tail. Zero points are no business of the library's.
Call requantized(const Graph& graph, const Node& node, Call call) {
  const json& a = node.attributes;
  const auto of_int8 = [&](ValueId id) { return graph.type(id).scalar == ir::Scalar::Int8; };
  if (!call || a.at("x_zero_point") != 0 || a.at("zero_point") != 0 || a.at("to") != "int8" ||
      input_of(node, 4) != kNoValue || !of_int8(node.inputs[0]) || !of_int8(node.inputs[1])) {
    return std::nullopt;
  }
  const Shape& made = graph.type(node.outputs.front()).shape;
  const std::int64_t channels = made[call->written.empty() ? made.size() - 1 : 1];
  const ValueId bias = input_of(node, 3), factor = input_of(node, 2), residual = input_of(node, 5);
  if (bias != kNoValue && graph.type(bias).elements() != channels) return std::nullopt;
  json& tail = call->fields["tail"];
  if (a.contains("shift")) {
    const std::int64_t bits = a.at("shift");
    if (bits > 0) tail.push_back("shift_right " + std::to_string(bits));
  } else {
    if (graph.type(factor).elements() != channels) return std::nullopt;
    tail.push_back("requantize");
    call->inputs.push_back({factor, {}});
  }
  if (residual != kNoValue) {
    if (!of_int8(residual)) return std::nullopt;
    tail.push_back("add");
    call->inputs.push_back({residual, call->written});
  }
  tail.push_back("clip " + std::to_string(a.at("low").get<std::int64_t>()) + " " +
                 std::to_string(a.at("high").get<std::int64_t>()));
  tail.push_back("cast int8");
  return call;
}

// ONNX's attributes are floats: 1e-6 is meant, not 9.999999974752427e-07.
double shortest(double attribute) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, static_cast<float>(attribute)).ptr;
  double value = 0;
  std::from_chars(text, end, value);
  return value;
}

// Along the last axis, of rows.
Call of_rows(const Graph& graph, const Node& node, const char* op) {
  const TensorType& x = graph.type(node.inputs[0]);
  const std::int64_t axis = node.attributes.at("axis");
  const std::size_t rank = x.shape.size();
  if (rank < 1 || (axis != -1 && axis != static_cast<std::int64_t>(rank) - 1)) return std::nullopt;
  LibraryCall call{{{"op", op},
                    {"dtype", ir::to_string(ir::DataType{x.scalar})},
                    {"batch", product(x.shape, 0, rank - 1)},
                    {"features", x.shape.back()},
                    {"tail", json::array()}},
                   {},
                   {}};
  for (const ValueId id : node.inputs) call.inputs.push_back({id, {}});
  return call;
}

Call elementwise(const Graph& graph, const Node& node, const char* function, const Order& order) {
  if (node.inputs.size() != 2) return std::nullopt;
  const TensorType &a = graph.type(node.inputs[0]), &b = graph.type(node.inputs[1]);
  if (a.shape != graph.type(node.outputs[0]).shape || a.shape.empty()) return std::nullopt;
  if (a.scalar == ir::Scalar::Int8) return std::nullopt;  // the library's makes int32 of them
  const Order second = of_last_axes(order, a.shape.size(), b.shape.size());
  Shape wide = b.shape;  // axes of extent 1 ahead, so that those in between have their places
  if (!order.empty()) wide.insert(wide.begin(), a.shape.size() - b.shape.size(), 1);
  return LibraryCall{{{"op", "elementwise"},
                      {"dtype", ir::to_string(ir::DataType{a.scalar})},
                      {"function", function},
                      {"shape", in_order(a.shape, order)},
                      {"shape_b", in_order(wide, order)},
                      {"tail", json::array()}},
                     {{node.inputs[0], order}, {node.inputs[1], second}},
                     order};
}

}  // namespace

std::optional<LibraryCall> library_call(const Graph& graph, const Node& node, const Order& order) {
  static const std::pair<const char*, const char*> kFunctions[] = {
      {"Add", "add"},    {"Sub", "subtract"}, {"Mul", "multiply"},
      {"Div", "divide"}, {"Max", "maximum"},  {"Min", "minimum"}};
  if (node.op == "Conv") return convolution(graph, node, input_of(node, 2));
  if (node.op == "QLinearConv") {
    return requantized(graph, node, convolution(graph, node, input_of(node, 3)));
  }
  if (node.op == "QLinearMatMul") {
    return requantized(graph, node, quantized_product(graph, node));
  }
  if (node.op == "MaxPool" || node.op == "AveragePool") return pool(graph, node);
  if (node.op == "ReduceMean") return spatial_mean(graph, node);
  if (node.op == "Gemm") return gemm(graph, node);
  if (node.op == "MatMul") return matmul(graph, node);
  if (node.op == "Softmax") return of_rows(graph, node, "softmax");
  if (node.op == "LayerNormalization" && node.inputs.size() == 3) {
    auto call = of_rows(graph, node, "layer_norm");
    const double epsilon = shortest(node.attributes.at("epsilon"));
    if (!call || !(epsilon > 0)) return std::nullopt;
    call->fields["epsilon"] = epsilon;
    return call;
  }
  for (const auto& [op, function] : kFunctions) {
    if (node.op == op) return elementwise(graph, node, function, order);
  }
  return std::nullopt;
}

std::optional<TailStep> tail_step(const Graph& graph, const Node& node, ValueId to,
                                  std::size_t channel) {
  static const std::pair<const char*, const char*> kPlain[] = {
      {"Relu", "relu"}, {"Sigmoid", "sigmoid"}, {"Swish", "swish"}, {"HardSwish", "hard_swish"},
      {"Gelu", "gelu"}, {"Tanh", "tanh"}};
  for (const auto& [op, step] : kPlain) {
    if (node.op == op) return TailStep{step};
  }
  if (node.op == "LeakyRelu") {
    const std::string step = space::leaky_relu_step(node.attributes.at("alpha"));
    if (step.empty()) return std::nullopt;
    return TailStep{step};
  }
  if (node.op == "Clip") {
    const double low = node.attributes.at("min"), high = node.attributes.at("max");
    if (low == 0 && high == 6) return TailStep{"relu6"};
    return std::nullopt;
  }
  if (node.op != "Add" && node.op != "Mul") return std::nullopt;
  const ValueId other = node.inputs[0] == to ? node.inputs[1] : node.inputs[0];
  const TensorType &value = graph.type(to), &added = graph.type(other);
  if (other == to || graph.type(node.outputs[0]) != value) return std::nullopt;
  if (node.op == "Add" && added == value && !constant(graph, other)) return TailStep{"add", other};
  // A constant along the channels only.
  if (!constant(graph, other) || added.shape.size() > value.shape.size()) return std::nullopt;
  const std::size_t ahead = value.shape.size() - added.shape.size();
  for (std::size_t d = 0; d < added.shape.size(); ++d) {
    if (added.shape[d] != (ahead + d == channel ? value.shape[channel] : 1)) return std::nullopt;
  }
  if (channel < ahead) return std::nullopt;
  return TailStep{node.op == "Add" ? "bias" : "multiply", other};
}

}  // namespace fettle::model
