// Puts quantisations into a network (quantize.h).
#include "host/model/passes/quantize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "host/model/graph/constants.h"
#include "host/model/graph/users.h"
#include "host/model/operators/operators.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

using nlohmann::json;

bool is_one_of(const Node& node, std::initializer_list<const char*> operators) {
  return std::any_of(operators.begin(), operators.end(),
                     [&](const char* op) { return node.op == op; });
}
bool is_product(const Node& node) { return is_one_of(node, {"Conv", "Gemm", "MatMul"}); }
// Makes of values some of them: its output has its inputs' scale.
bool chooses(const Node& node) {
  return is_one_of(node, {"MaxPool", "Flatten", "Reshape", "Identity", "Transpose", "Concat"});
}

// Less is nothing: products of scales stay normal numbers.
constexpr double kLeast = 0x1p-50;

// 127 of these are `largest`, or a little more: scales have 12 bits, so that the last bits of what
// was measured do not show in files.
double scale_for(double largest, bool power_of_two) {
  if (!(largest > kLeast)) return 1;
  int exponent = 0;
  const double fraction = std::frexp(largest / 127, &exponent);  // [0.5, 1)
  if (power_of_two) return std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent);
  return std::ldexp(std::ceil(std::ldexp(fraction, 12)), exponent - 12);
}

class Quantizer {
 public:
  Quantizer(Graph graph, const std::vector<double>& largest, const QuantizeOptions& options)
      : graph_(std::move(graph)),
        options_(options),
        readers_(readers_of(graph_)),
        outputs_(outputs_of(graph_)),
        largest_(largest),
        group_(graph_.values.size()),
        wanted_(graph_.values.size()) {
    std::iota(group_.begin(), group_.end(), ValueId{0});
  }

  Result<Graph> run() {
    find();
    for (ValueId id = 0; id < wanted_.size(); ++id) {
      if (wanted_[id] && !std::isfinite(largest_[id])) {
        return Error{ErrorCode::InvalidArgument,
                     "the value " + graph_.values[id].name + " is not finite for all samples"};
      }
      double& all = largest_[root(id)];
      if (wanted_[id]) all = std::max(all, largest_[id]);
    }
    meant_.resize(graph_.values.size());
    std::iota(meant_.begin(), meant_.end(), ValueId{0});
    auto zero = add_constant(graph_, "zero_point", {ir::Scalar::Int8, {}}, {0});
    auto zero32 = add_constant(graph_, "zero_point_32", {ir::Scalar::Int32, {}}, {0});
    if (!zero || !zero32) return Error{ErrorCode::Internal, "zero points"};
    zero_ = *zero, zero32_ = *zero32;
    std::vector<Node> given;
    given.swap(graph_.nodes);
    for (const ValueId id : graph_.inputs) {
      if (auto added = add_quantization(id); !added) return std::move(added).error();
    }
    for (Node& node : given) {
      const ValueId made = node.outputs.front();
      if (auto added = take(std::move(node)); !added) return std::move(added).error();
      if (auto added = add_quantization(made); !added) return std::move(added).error();
    }
    for (ValueId& id : graph_.outputs) id = meant_[id];
    drop_unread(graph_);
    return std::move(graph_);
  }

  std::vector<ValueId> values() {
    find();
    std::vector<ValueId> out;
    const auto take = [&](ValueId id) {
      if (wanted_[id]) out.push_back(id);
    };
    for (const ValueId id : graph_.inputs) take(id);
    for (const Node& node : graph_.nodes) take(node.outputs.front());
    return out;
  }

 private:
  bool computed(ValueId id) const {
    return graph_.type(id).scalar == ir::Scalar::Float32 && !graph_.values[id].constant;
  }
  bool constant(const Node& node, std::size_t input) const {
    return graph_.values[node.inputs[input]].constant != nullptr;
  }
  // What the pass knows how to quantise.
  bool known(const Node& node) const {
    if (!computed(node.outputs.front())) return false;
    if (is_product(node)) return computed(node.inputs[0]) && constant(node, 1);
    if (node.op == "Add") return computed(node.inputs[0]) && computed(node.inputs[1]);
    if (node.op == "ReduceMean") return graph_.type(node.inputs[0]).shape.size() == 4;
    return is_one_of(node, {"Relu", "Clip"}) || chooses(node);
  }
  const Node* only(ValueId id) const { return only_reader(graph_, readers_, outputs_, id); }

  // Which values are quantised, and which of them have one scale.
  void find() {
    for (const ValueId id : graph_.inputs) {
      wanted_[id] =
          computed(id) && std::any_of(readers_[id].begin(), readers_[id].end(),
                                      [&](std::size_t n) { return known(graph_.nodes[n]); });
    }
    std::vector<bool> has_product(graph_.values.size());  // sums that are some product's own
    for (const Node& node : graph_.nodes) {
      const ValueId made = node.outputs.front();
      if (!known(node)) {
        wanted_[made] =
            computed(made) && std::any_of(readers_[made].begin(), readers_[made].end(),
                                          [&](std::size_t n) { return known(graph_.nodes[n]); });
        continue;
      }
      wanted_[made] = true;
      const Node* next = only(made);
      const bool activated = next && is_one_of(*next, {"Relu", "Clip"});
      if (activated && (is_product(node) || is_one_of(node, {"Add", "Relu", "Clip"}))) {
        wanted_[made] = false;
      }
      if (options_.power_of_two && is_product(node) && next && next->op == "Add" && known(*next) &&
          !has_product[next->outputs.front()]) {
        has_product[next->outputs.front()] = true;
        wanted_[made] = false;
      }
    }
    for (const Node& node : graph_.nodes) {
      const ValueId made = node.outputs.front();
      if (!known(node)) continue;
      if (chooses(node)) {
        for (const ValueId id : node.inputs) join(id, made);
      }
      if (!has_product[made]) continue;
      ValueId last = made;
      while (!wanted_[last]) last = only(last)->outputs.front();
      for (const ValueId id : node.inputs) {
        if (wanted_[id]) join(id, last);
      }
    }
  }

  ValueId root(ValueId id) const { return group_[id] == id ? id : root(group_[id]); }
  void join(ValueId a, ValueId b) { group_[root(a)] = root(b); }

  Result<ValueId> add_node(const char* op, std::vector<ValueId> inputs, const std::string& name,
                           TensorType type, std::int64_t axis = 1) {
    json attributes = {{"axis", axis}};
    if (std::string(op) == "QuantizeLinear") attributes["to"] = "int8";
    graph_.values.push_back({name, std::move(type), nullptr});
    const auto made = static_cast<ValueId>(graph_.values.size() - 1);
    graph_.nodes.push_back({op, name, std::move(attributes), std::move(inputs), {made}});
    return made;
  }

  Result<void> add_quantization(ValueId id) {
    if (!wanted_[id]) return {};
    const std::string name = graph_.values[id].name;
    const auto shape = graph_.type(id).shape;
    auto scale = add_constant(graph_, name + ".scale", {ir::Scalar::Float32, {}},
                              {scale_for(largest_[root(id)], options_.power_of_two)});
    if (!scale) return std::move(scale).error();
    auto bytes = add_node("QuantizeLinear", {id, *scale, zero_}, name + ".quantized",
                          {ir::Scalar::Int8, shape});
    if (!bytes) return std::move(bytes).error();
    auto again = add_node("DequantizeLinear", {*bytes, *scale, zero_}, name + ".dequantized",
                          {ir::Scalar::Float32, shape});
    if (!again) return std::move(again).error();
    meant_[id] = *again;
    return {};
  }

  Result<void> take(Node node) {
    const bool quantized = known(node) && is_product(node);
    const double of_x =
        quantized ? scale_for(largest_[root(node.inputs[0])], options_.power_of_two) : 1;
    for (ValueId& id : node.inputs) {
      if (id != kNoValue) id = meant_[id];
    }
    if (quantized) {
      if (auto right = quantize_weights(node, of_x); !right) return right;
    }
    graph_.nodes.push_back(std::move(node));
    return {};
  }

  // The weights as int8, the bias, where it is a constant, as int32 of the sums' scale.
  Result<void> quantize_weights(Node& node, double of_x) {
    const std::string name = graph_.values[node.inputs[1]].name;
    const TensorType type = graph_.type(node.inputs[1]);
    Numbers numbers = *numbers_of(graph_, node.inputs[1]);
    const bool rows = node.op == "Conv" || (node.op == "Gemm" && node.attributes.at("transB") == 1);
    const std::size_t axis = rows ? 0 : type.shape.size() - 1;
    const auto channels = static_cast<std::size_t>(type.shape[axis]);
    const std::size_t each = rows ? numbers.size() / channels : 1;  // neighbours of one channel
    const auto channel = [&](std::size_t i) { return i / each % channels; };
    Numbers scales(channels, 0);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      scales[channel(i)] = std::max(scales[channel(i)], std::fabs(numbers[i]));
    }
    auto given = node.inputs.size() < 3 ? std::nullopt : numbers_of(graph_, node.inputs[2]);
    // A row: Gemm takes columns too.
    if (given) {
      const auto& shape = graph_.type(node.inputs[2]).shape;
      const bool row = !shape.empty() && shape.back() == static_cast<std::int64_t>(channels);
      if (!row || given->size() != channels) given.reset();
    }
    if (given) {
      // As int32 of the sums' scale a bias has room to spare.
      for (std::size_t c = 0; c < channels; ++c) {
        scales[c] = std::max(scales[c], 127 * std::fabs((*given)[c]) / of_x * 0x1p-30);
      }
    }
    if (options_.power_of_two) scales = {*std::max_element(scales.begin(), scales.end())};
    for (double& scale : scales) scale = scale_for(scale, options_.power_of_two);
    const auto scale = [&](std::size_t c) { return scales[scales.size() == 1 ? 0 : c]; };
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = std::clamp(std::nearbyint(numbers[i] / scale(channel(i))), -127.0, 127.0);
    }
    auto weights = dequantized(name, {ir::Scalar::Int8, type.shape}, numbers, scales,
                               static_cast<std::int64_t>(axis));
    if (!weights) return std::move(weights).error();
    node.inputs[1] = *weights;
    if (!given) return {};
    Numbers bias = *given;
    for (double& one : scales) one = static_cast<float>(one) * static_cast<float>(of_x);
    for (std::size_t c = 0; c < channels; ++c) {
      bias[c] = std::clamp(std::nearbyint(bias[c] / scale(c)), -2147483648.0, 2147483647.0);
    }
    auto biases = dequantized(graph_.values[node.inputs[2]].name,
                              {ir::Scalar::Int32, graph_.type(node.inputs[2]).shape}, bias, scales,
                              std::ssize(graph_.type(node.inputs[2]).shape) - 1);
    if (!biases) return std::move(biases).error();
    node.inputs[2] = *biases;
    return {};
  }

  Result<ValueId> dequantized(const std::string& name, const TensorType& type,
                              const Numbers& numbers, const Numbers& scales, std::int64_t axis) {
    auto bytes = add_constant(graph_, name + ".quantized", type, numbers);
    TensorType of_scales{ir::Scalar::Float32, {}};
    if (scales.size() > 1) of_scales.shape = {static_cast<std::int64_t>(scales.size())};
    auto scale = add_constant(graph_, name + ".scale", of_scales, scales);
    if (!bytes || !scale) return bytes ? std::move(scale).error() : std::move(bytes).error();
    const bool wide = type.scalar == ir::Scalar::Int32;
    std::vector<ValueId> inputs = {*bytes, *scale};
    if (scales.size() == 1) inputs.push_back(wide ? zero32_ : zero_);
    return add_node("DequantizeLinear", inputs, name + ".dequantized",
                    {ir::Scalar::Float32, type.shape}, axis);
  }

  Graph graph_;
  QuantizeOptions options_;
  std::vector<std::vector<std::size_t>> readers_;  // of the graph as it was given
  std::vector<bool> outputs_;
  std::vector<double> largest_;
  std::vector<ValueId> group_;  // of one scale: a tree of each group
  std::vector<bool> wanted_;    // which values are quantised
  std::vector<ValueId> meant_;  // what readers of a value read
  ValueId zero_ = kNoValue, zero32_ = kNoValue;
};

}  // namespace

bool is_quantized_operator(const std::string& op) {
  const auto rows = quantized_operators();
  return std::any_of(rows.begin(), rows.end(), [&](const Operator& row) { return op == row.name; });
}

Result<std::vector<double>> largest_magnitudes(const Graph& graph,
                                               const std::vector<Sample>& samples,
                                               const Evaluator& evaluate) {
  std::vector<double> largest(graph.values.size());
  const auto measure = [&](ValueId id, const TensorBytes& bytes) -> Result<void> {
    const ir::DataType type{graph.type(id).scalar};
    if (!type.is_float()) return {};
    auto numbers = space::to_doubles(*bytes, type);
    if (!numbers) return std::move(numbers).error();
    double& most = largest[id];
    for (const double number : *numbers) {
      most = std::isnan(number) ? HUGE_VAL : std::max(most, std::fabs(number));
    }
    return {};
  };
  for (const Sample& sample : samples) {
    auto values = evaluate(sample);
    if (!values) return std::move(values).error();
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      if (auto done = measure(graph.inputs[i], sample[i]); !done) return std::move(done).error();
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      auto done = measure(graph.outputs[i], (*values)[i]);
      if (!done) return std::move(done).error();
    }
  }
  return largest;
}

Result<std::vector<double>> largest_magnitudes(const Graph& graph,
                                               const std::vector<Sample>& samples,
                                               const std::stop_token& stop) {
  Graph all = graph;
  all.outputs.clear();
  for (const Node& node : graph.nodes) all.outputs.push_back(node.outputs.front());
  return largest_magnitudes(all, samples, by_reference(all, stop));
}

std::vector<ValueId> quantized_values(const Graph& graph, const QuantizeOptions& options) {
  return Quantizer(graph, std::vector<double>(graph.values.size()), options).values();
}

Result<Graph> quantize(Graph graph, const std::vector<double>& largest,
                       const QuantizeOptions& options) {
  return Quantizer(std::move(graph), largest, options).run();
}

void keep_output_names(Graph& quantized, const Graph& of) {
  for (std::size_t i = 0; i < of.outputs.size(); ++i) {
    const std::string name = of.values[of.outputs[i]].name;
    Value& output = quantized.values[quantized.outputs[i]];
    if (output.name == name) continue;
    // One that is an input, too, cannot have its name twice.
    if (std::any_of(quantized.inputs.begin(), quantized.inputs.end(),
                    [&](ValueId id) { return quantized.values[id].name == name; })) {
      continue;
    }
    for (Value& value : quantized.values) {
      if (value.name == name) value.name += ".unquantized";
    }
    output.name = name;
  }
}

}  // namespace fettle::model
