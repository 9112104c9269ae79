// Folding of batch norms (fold_batch_norm.h): gamma (x - mean) / sqrt(variance + epsilon) + beta is
// x scale + shift, computed in double.
#include "host/model/passes/fold_batch_norm.h"

#include <cmath>

#include "host/model/graph/constants.h"
#include "host/model/graph/users.h"

namespace fettle::model {
namespace {

struct Factors {
  Numbers scale, shift;  // of each channel
};

std::optional<Factors> factors_of(const Graph& graph, const Node& norm) {
  std::vector<Numbers> inputs;
  for (std::size_t i = 1; i < 5; ++i) {
    auto numbers = numbers_of(graph, norm.inputs[i]);
    if (!numbers) return std::nullopt;
    inputs.push_back(std::move(*numbers));
  }
  const double epsilon = norm.attributes.at("epsilon");
  Factors out;
  for (std::size_t c = 0; c < inputs[0].size(); ++c) {
    out.scale.push_back(inputs[0][c] / std::sqrt(inputs[3][c] + epsilon));
    out.shift.push_back(inputs[1][c] - inputs[2][c] * out.scale.back());
  }
  return out;
}

// The convolution with other weights, a bias, and the norm's output.
Result<Node> folded(Graph& graph, const Node& conv, const Node& norm, const Factors& factors,
                    Numbers weight, Numbers bias) {
  const TensorType type = graph.type(conv.inputs[1]);
  const std::size_t channels = factors.scale.size(), each = weight.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < each; ++i) weight[c * each + i] *= factors.scale[c];
    bias[c] = bias[c] * factors.scale[c] + factors.shift[c];
  }
  const std::string name = graph.values[norm.outputs.front()].name;
  auto weights = add_constant(graph, name + ".weight", type, weight);
  if (!weights) return std::move(weights).error();
  auto biases = add_constant(graph, name + ".bias",
                             {type.scalar, {static_cast<std::int64_t>(channels)}}, bias);
  if (!biases) return std::move(biases).error();
  Node out = conv;
  out.inputs = {conv.inputs[0], *weights, *biases};
  out.outputs = norm.outputs;
  return out;
}

}  // namespace

Result<void> fold_batch_norms(Graph& graph) {
  const auto readers = readers_of(graph);
  const auto outputs = outputs_of(graph);
  std::vector<std::optional<std::size_t>> made_by(graph.values.size());
  std::vector<Node> nodes;
  const std::size_t values = graph.values.size();
  for (Node& node : graph.nodes) {
    std::optional<Factors> factors;
    if (node.op == "BatchNormalization") factors = factors_of(graph, node);
    if (!factors) {
      made_by[node.outputs.front()] = nodes.size();
      nodes.push_back(std::move(node));
      continue;
    }
    const ValueId x = node.inputs[0];
    Node* conv = x < values && made_by[x] ? &nodes[*made_by[x]] : nullptr;
    if (conv && conv->op == "Conv" && !outputs[x] && readers[x].size() == 1) {
      auto weight = numbers_of(graph, conv->inputs[1]);
      auto bias = conv->inputs.size() > 2
                      ? numbers_of(graph, conv->inputs[2])
                      : std::optional<Numbers>(Numbers(factors->scale.size(), 0.0));
      if (weight && bias) {
        auto one = folded(graph, *conv, node, *factors, std::move(*weight), std::move(*bias));
        if (!one) return std::move(one).error();
        *conv = std::move(*one);
        made_by[node.outputs.front()] = made_by[x];
        continue;
      }
    }
    TensorType type = graph.type(x);
    const std::string name = graph.values[node.outputs.front()].name;
    TensorType per_channel{type.scalar, std::vector<std::int64_t>(type.shape.size() - 1, 1)};
    per_channel.shape[0] = static_cast<std::int64_t>(factors->scale.size());
    auto scale = add_constant(graph, name + ".scale", per_channel, factors->scale);
    auto shift = add_constant(graph, name + ".shift", per_channel, factors->shift);
    if (!scale || !shift) return scale ? std::move(shift).error() : std::move(scale).error();
    graph.values.push_back({name + ".scaled", type, nullptr});
    const auto scaled = static_cast<ValueId>(graph.values.size() - 1);
    const auto none = nlohmann::json::object();
    nodes.push_back({"Mul", node.name, none, {x, *scale}, {scaled}});
    made_by[node.outputs.front()] = nodes.size();
    nodes.push_back({"Add", node.name, none, {scaled, *shift}, node.outputs});
  }
  graph.nodes = std::move(nodes);
  return {};
}

}  // namespace fettle::model
