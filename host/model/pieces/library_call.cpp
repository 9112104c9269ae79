// Nodes as operators of the library (library_call.h).
#include "host/model/pieces/library_call.h"

#include <cmath>
#include <numeric>

namespace fettle::model {
namespace {

using nlohmann::json;
using Shape = std::vector<std::int64_t>;

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

std::optional<json> convolution(const Graph& graph, const Node& node) {
  auto call = image_window(graph, node);
  const Shape& weight = graph.type(node.inputs[1]).shape;
  if (!call || !constant(graph, node.inputs[1])) return std::nullopt;
  const std::int64_t channels = graph.type(node.inputs[0]).shape[1];
  const std::int64_t groups = node.attributes.at("group");
  (*call)["kernel"] = Shape{weight[2], weight[3]};
  (*call)["dilation"] = node.attributes.at("dilations");
  if (groups > 1 && groups == channels && weight[0] == channels) {
    (*call)["op"] = "depthwise_conv2d";
    (*call)["channels"] = channels;
  } else {
    (*call)["op"] = "conv2d";
    (*call)["in_channels"] = channels;
    (*call)["out_channels"] = weight[0];
    (*call)["groups"] = groups;
  }
  (*call)["tail"] = json::array();
  if (node.inputs.size() > 2) (*call)["tail"].push_back("bias");
  return call;
}

std::optional<json> global_mean(const TensorType& x) {
  return json{{"op", "global_avg_pool2d"},
              {"layout", "NHWC"},
              {"dtype", ir::to_string(ir::DataType{x.scalar})},
              {"batch", x.shape[0]},
              {"height", x.shape[2]},
              {"width", x.shape[3]},
              {"channels", x.shape[1]},
              {"tail", json::array()}};
}

std::optional<json> pool(const Graph& graph, const Node& node) {
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
  if (node.op == "AveragePool" && whole) return global_mean(graph.type(node.inputs[0]));
  (*call)["op"] = node.op == "MaxPool" ? "max_pool2d" : "avg_pool2d";
  (*call)["channels"] = x[1];
  (*call)["kernel"] = kernel;
  (*call)["tail"] = json::array();
  if (node.op != "MaxPool") (*call)["count_include_pad"] = node.attributes.at("count_include_pad");
  return call;
}

std::optional<json> spatial_mean(const Graph& graph, const Node& node) {
  const TensorType& x = graph.type(node.inputs[0]);
  if (x.shape.size() != 4 || node.attributes.at("axes") != json(Shape{2, 3})) return std::nullopt;
  return global_mean(x);
}

json dense(const TensorType& x, std::int64_t rows, std::int64_t from, std::int64_t to) {
  return {{"op", "dense"},      {"dtype", ir::to_string(ir::DataType{x.scalar})},
          {"batch", rows},      {"in_features", from},
          {"out_features", to}, {"tail", json::array()}};
}

std::optional<json> gemm(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.inputs[0]), &y = graph.type(node.outputs[0]);
  const json& a = node.attributes;
  if (a.at("alpha") != 1.0 || a.at("beta") != 1.0 || a.at("transA") != 0) return std::nullopt;
  if (!constant(graph, node.inputs[1])) return std::nullopt;
  json call = dense(x, y.shape[0], x.shape[1], y.shape[1]);
  if (node.inputs.size() > 2) {
    if (graph.type(node.inputs[2]).elements() != y.shape[1]) return std::nullopt;
    call["tail"].push_back("bias");
  }
  return call;
}

std::optional<json> matmul(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.inputs[0]), &w = graph.type(node.inputs[1]);
  const std::size_t rank = x.shape.size();
  if (rank < 2 || w.shape.size() < 2) return std::nullopt;
  const std::int64_t k = x.shape[rank - 1], n = w.shape.back();
  if (w.shape.size() == 2 && constant(graph, node.inputs[1])) {
    return dense(x, product(x.shape, 0, rank - 1), k, n);
  }
  if (w.shape.size() != rank || product(w.shape, 0, rank - 2) != product(x.shape, 0, rank - 2)) {
    return std::nullopt;
  }
  return json{{"op", "batch_matmul"},
              {"dtype", ir::to_string(ir::DataType{x.scalar})},
              {"batch", product(x.shape, 0, rank - 2)},
              {"m", x.shape[rank - 2]},
              {"n", n},
              {"k", k},
              {"tail", json::array()}};
}

// Along the last axis, of rows.
std::optional<json> of_rows(const Graph& graph, const Node& node, const char* op) {
  const TensorType& x = graph.type(node.inputs[0]);
  const std::int64_t axis = node.attributes.at("axis");
  const std::size_t rank = x.shape.size();
  if (rank < 1 || (axis != -1 && axis != static_cast<std::int64_t>(rank) - 1)) return std::nullopt;
  return json{{"op", op},
              {"dtype", ir::to_string(ir::DataType{x.scalar})},
              {"batch", product(x.shape, 0, rank - 1)},
              {"features", x.shape.back()},
              {"tail", json::array()}};
}

std::optional<json> elementwise(const Graph& graph, const Node& node, const char* function) {
  if (node.inputs.size() != 2) return std::nullopt;
  const TensorType &a = graph.type(node.inputs[0]), &b = graph.type(node.inputs[1]);
  if (a.shape != graph.type(node.outputs[0]).shape || a.shape.empty()) return std::nullopt;
  return json{{"op", "elementwise"},  {"dtype", ir::to_string(ir::DataType{a.scalar})},
              {"function", function}, {"shape", a.shape},
              {"shape_b", b.shape},   {"tail", json::array()}};
}

}  // namespace

std::optional<json> library_call(const Graph& graph, const Node& node) {
  static const std::pair<const char*, const char*> kFunctions[] = {
      {"Add", "add"},    {"Sub", "subtract"}, {"Mul", "multiply"},
      {"Div", "divide"}, {"Max", "maximum"},  {"Min", "minimum"}};
  if (node.op == "Conv") return convolution(graph, node);
  if (node.op == "MaxPool" || node.op == "AveragePool") return pool(graph, node);
  if (node.op == "ReduceMean") return spatial_mean(graph, node);
  if (node.op == "Gemm") return gemm(graph, node);
  if (node.op == "MatMul") return matmul(graph, node);
  if (node.op == "Softmax") return of_rows(graph, node, "softmax");
  if (node.op == "LayerNormalization" && node.inputs.size() == 3 &&
      std::fabs(node.attributes.at("epsilon").get<double>() - 1e-5) < 1e-9) {
    return of_rows(graph, node, "layer_norm");
  }
  for (const auto& [op, function] : kFunctions) {
    if (node.op == op) return elementwise(graph, node, function);
  }
  return std::nullopt;
}

std::optional<std::string> tail_step(const Graph& graph, const Node& node, ValueId to,
                                     std::size_t channel) {
  static const std::pair<const char*, const char*> kPlain[] = {{"Relu", "relu"},
                                                               {"Sigmoid", "sigmoid"},
                                                               {"HardSwish", "hard_swish"},
                                                               {"Gelu", "gelu"},
                                                               {"Tanh", "tanh"}};
  for (const auto& [op, step] : kPlain) {
    if (node.op == op) return step;
  }
  if (node.op == "Clip") {
    const double low = node.attributes.at("min"), high = node.attributes.at("max");
    if (low == 0 && high == 6) return "relu6";
    return std::nullopt;
  }
  if (node.op != "Add" && node.op != "Mul") return std::nullopt;
  const ValueId other = node.inputs[0] == to ? node.inputs[1] : node.inputs[0];
  const TensorType &value = graph.type(to), &added = graph.type(other);
  if (other == to || graph.type(node.outputs[0]) != value) return std::nullopt;
  if (node.op == "Add" && added == value && !constant(graph, other)) return "add";
  // A constant along the channels only.
  if (!constant(graph, other) || added.shape.size() > value.shape.size()) return std::nullopt;
  const std::size_t ahead = value.shape.size() - added.shape.size();
  for (std::size_t d = 0; d < added.shape.size(); ++d) {
    if (added.shape[d] != (ahead + d == channel ? value.shape[channel] : 1)) return std::nullopt;
  }
  if (channel < ahead) return std::nullopt;
  return node.op == "Add" ? "bias" : "multiply";
}

}  // namespace fettle::model
