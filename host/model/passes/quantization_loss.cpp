// Both networks side by side (quantization_loss.h).
#include "host/model/passes/quantization_loss.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "host/model/graph/constants.h"
#include "host/model/graph/users.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

bool is_float(const Graph& graph, ValueId id) {
  return ir::DataType{graph.type(id).scalar}.is_float();
}

// Those that are computed become the graph's outputs, each once.
Observed observed(const Graph& graph, std::vector<ValueId> values) {
  Observed out{graph, std::move(values), {}, {}};
  for (const ValueId id : graph.outputs) {
    if (is_float(graph, id)) out.outputs.push_back(id);
  }
  out.graph.outputs.clear();
  std::set<ValueId> taken(graph.inputs.begin(), graph.inputs.end());
  for (const auto* list : {&out.values, &out.outputs}) {
    for (const ValueId id : *list) {
      if (!graph.values[id].constant && taken.insert(id).second) out.graph.outputs.push_back(id);
    }
  }
  drop_unread(out.graph);
  return out;
}

// The constants that are dequantised become constants of float32.
Result<void> dequantize_constants(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    std::vector<TensorBytes> constants;
    std::vector<const TensorType*> types;
    for (const ValueId id : node.inputs) {
      constants.push_back(id == kNoValue ? nullptr : graph.values[id].constant);
      types.push_back(id == kNoValue ? nullptr : &graph.type(id));
    }
    if (node.op != "DequantizeLinear" || !constants.front()) {
      nodes.push_back(std::move(node));
      continue;
    }
    auto stages = stages_of(node.op, node.attributes, types);
    if (!stages) return std::move(stages).error();
    auto meant = evaluate_node(*stages, constants);
    if (!meant) return std::move(meant).error();
    graph.values[node.outputs.front()].constant = std::move(*meant);
  }
  graph.nodes = std::move(nodes);
  return {};
}

// Numbers of values out of what an evaluator made, and of the sample.
class SampleNumbers {
 public:
  SampleNumbers(const Graph& graph, const Sample& sample, std::vector<TensorBytes> outputs)
      : graph_(graph) {
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) bytes_[graph.inputs[i]] = sample[i];
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      bytes_[graph.outputs[i]] = std::move(outputs[i]);
    }
  }
  Result<space::Tensor> of(ValueId id) const {
    const auto at = bytes_.find(id);
    const TensorBytes bytes = at == bytes_.end() ? graph_.values[id].constant : at->second;
    if (!bytes) return Error{ErrorCode::Internal, graph_.values[id].name + " was not evaluated"};
    return space::to_doubles(*bytes, {graph_.type(id).scalar, 1});
  }

 private:
  const Graph& graph_;
  std::map<ValueId, TensorBytes> bytes_;
};

// A QuantizeLinear to int8 without a zero point, as float32 computes it.
class Steps {
 public:
  explicit Steps(double scale) : scale_(static_cast<float>(scale)) {}
  float unheld(double number) const { return std::nearbyint(static_cast<float>(number) / scale_); }
  bool holds(double number) const { return unheld(number) >= -128 && unheld(number) <= 127; }
  double rounded(double number) const {
    return std::clamp(unheld(number), -128.0f, 127.0f) * scale_;
  }

 private:
  float scale_;
};

// What is known of the values before there is a sample.
class Description {
 public:
  Description(const Observed& whole, const Observed& quantized)
      : whole_(whole.graph), values_(whole.values.begin(), whole.values.end()) {
    for (const Node& node : whole_.nodes) makers_[node.outputs.front()] = &node;
    for (const Node& node : quantized.graph.nodes) {
      quantized_makers_[quantized.graph.values[node.outputs.front()].name] = &node;
    }
    quantized_ = &quantized.graph;
  }

  QuantizedValue of(ValueId id, double scale) const {
    QuantizedValue value;
    value.name = whole_.values[id].name;
    value.scale = scale;
    const auto nodes = nodes_of(id);
    value.operators = words(nodes);
    for (const Node* node : nodes) value.weights.add(weights_noise(*node));
    return value;
  }

 private:
  // The nodes between a value and the quantised ones that it is made of, in their order.
  std::vector<const Node*> nodes_of(ValueId id) const {
    std::set<const Node*> seen;
    std::vector<ValueId> open = {id};
    while (!open.empty()) {
      const auto maker = makers_.find(open.back());
      open.pop_back();
      if (maker == makers_.end() || !seen.insert(maker->second).second) continue;
      for (const ValueId input : maker->second->inputs) {
        if (!values_.contains(input)) open.push_back(input);
      }
    }
    return {seen.begin(), seen.end()};  // nodes lie in one list: by place
  }

  static std::string words(const std::vector<const Node*>& nodes) {
    constexpr std::size_t kMost = 4;
    std::string text;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes.size() > kMost && i == kMost - 1) text += " …", i = nodes.size() - 1;
      text += (text.empty() ? "" : " ") + nodes[i]->op;
    }
    return text;
  }

  // Of constants that only the quantised network has as others.
  Noise weights_noise(const Node& node) const {
    Noise noise;
    const auto same = quantized_makers_.find(whole_.values[node.outputs.front()].name);
    if (same == quantized_makers_.end() || same->second->op != node.op) return noise;
    if (node.inputs.size() < 2 || node.inputs[1] == kNoValue) return noise;
    const auto x = numbers_of(whole_, node.inputs[1]);
    const auto q = numbers_of(*quantized_, same->second->inputs[1]);
    if (!x || !q || x->size() != q->size()) return noise;
    if (whole_.values[node.inputs[1]].constant ==
        quantized_->values[same->second->inputs[1]].constant) {
      return noise;
    }
    for (std::size_t i = 0; i < x->size(); ++i) noise.add((*x)[i], (*q)[i]);
    return noise;
  }

  const Graph& whole_;
  const Graph* quantized_;
  std::set<ValueId> values_;
  std::map<ValueId, const Node*> makers_;
  std::map<std::string, const Node*> quantized_makers_;  // by what they make
};

Error unlike() { return {ErrorCode::Internal, "the quantised network is another one"}; }

}  // namespace

void Noise::add(double x, double q) {
  signal += x * x;
  noise += (x - q) * (x - q);
}

void Noise::add(const Noise& other) {
  signal += other.signal;
  noise += other.noise;
}

double Noise::sqnr_db() const { return 10 * std::log10(signal / noise); }

double QuantizedValue::saturated_share() const {
  return elements == 0 ? 0 : static_cast<double>(saturated) / static_cast<double>(elements);
}

Observed observe(const Graph& whole, const QuantizeOptions& options) {
  return observed(whole, quantized_values(whole, options));
}

Result<Observed> observe_quantized(const Graph& quantized) {
  Graph graph = quantized;
  if (auto done = dequantize_constants(graph); !done) return std::move(done).error();
  std::vector<ValueId> values;
  std::vector<double> scales;
  for (const Node& node : graph.nodes) {
    if (node.op != "QuantizeLinear") continue;
    const auto scale = numbers_of(graph, node.inputs[1]);
    if (!scale || scale->size() != 1) return Error{ErrorCode::Internal, "a scale for each channel"};
    values.push_back(node.inputs[0]);
    scales.push_back(scale->front());
  }
  Observed out = observed(graph, std::move(values));
  out.scales = std::move(scales);
  return out;
}

Result<QuantizationLoss> quantization_loss(const Observed& whole, const Observed& quantized,
                                           const std::vector<Sample>& samples,
                                           const Evaluator& evaluate_whole,
                                           const Evaluator& evaluate_quantized) {
  if (whole.values.size() != quantized.scales.size() ||
      whole.outputs.size() != quantized.outputs.size()) {
    return unlike();
  }
  QuantizationLoss loss;
  const Description description(whole, quantized);
  for (std::size_t i = 0; i < whole.values.size(); ++i) {
    const std::string& name = whole.graph.values[whole.values[i]].name;
    if (name != quantized.graph.values[quantized.values[i]].name) return unlike();
    loss.values.push_back(description.of(whole.values[i], quantized.scales[i]));
  }
  for (const ValueId id : whole.outputs) {
    loss.outputs.push_back({whole.graph.values[id].name, {}});
  }
  for (const Sample& sample : samples) {
    auto exact = evaluate_whole(sample);
    if (!exact) return std::move(exact).error();
    auto rounded = evaluate_quantized(sample);
    if (!rounded) return std::move(rounded).error();
    const SampleNumbers of_whole(whole.graph, sample, std::move(*exact));
    const SampleNumbers of_quantized(quantized.graph, sample, std::move(*rounded));
    for (std::size_t i = 0; i < loss.values.size(); ++i) {
      const auto x = of_whole.of(whole.values[i]), q = of_quantized.of(quantized.values[i]);
      if (!x || !q) return x ? q.error() : x.error();
      QuantizedValue& value = loss.values[i];
      const Steps steps(value.scale);
      value.elements += static_cast<std::int64_t>(x->size());
      for (std::size_t e = 0; e < x->size(); ++e) {
        value.all.add((*x)[e], steps.rounded((*q)[e]));
        value.rounding.add((*x)[e], steps.rounded((*x)[e]));
        value.saturated += steps.holds((*q)[e]) ? 0 : 1;
      }
    }
    for (std::size_t i = 0; i < loss.outputs.size(); ++i) {
      const auto x = of_whole.of(whole.outputs[i]), q = of_quantized.of(quantized.outputs[i]);
      if (!x || !q) return x ? q.error() : x.error();
      for (std::size_t e = 0; e < x->size(); ++e) loss.outputs[i].all.add((*x)[e], (*q)[e]);
    }
  }
  return loss;
}

}  // namespace fettle::model
