// Finds what lies between two quantisations (quantized.h), from its QuantizeLinear upwards.
#include "host/model/passes/quantized.h"

#include <algorithm>
#include <cmath>

#include "host/model/graph/constants.h"
#include "host/model/graph/node_stages.h"
#include "host/model/graph/users.h"

namespace fettle::model {
namespace {

using nlohmann::json;

// Bytes or int32, and what they mean.
struct Integers {
  ValueId id = kNoValue;
  std::vector<float> scales;  // one, or of each place of the axis
  Numbers zeros;              // as many, or one
  ValueId zeros_id = kNoValue;
  std::int64_t axis = 0;

  bool one() const { return scales.size() == 1 && zeros.size() == 1; }
  bool symmetric() const {
    return std::all_of(zeros.begin(), zeros.end(), [](double zero) { return zero == 0; });
  }
  bool means_as(const Integers& other) const {
    return one() && other.one() && scales == other.scales && zeros == other.zeros;
  }
};

// What a node makes: its type, and the bounds within it, as they are stored.
struct Bounds {
  ir::Scalar type = ir::Scalar::Int8;
  std::int64_t low = 0, high = 0, zero = 0;

  std::int64_t lowest() const { return type == ir::Scalar::UInt8 ? 0 : -128; }
  bool whole_type() const { return low == lowest() && high == lowest() + 255; }
};

// Sums are int32. Half a step of a shift by 30 is added to them where halves are rounded up.
constexpr double kMostOfSum = 2147483647.0, kLargestHalf = 536870912.0;

// No sum of the products of bytes and of a bias is larger.
double largest_sum(const Graph& graph, ValueId weights, std::size_t channels, ValueId bias) {
  double largest_bias = 0;
  if (const auto numbers = bias == kNoValue ? std::nullopt : numbers_of(graph, bias)) {
    for (const double number : *numbers) largest_bias = std::max(largest_bias, std::fabs(number));
  }
  const auto each = static_cast<double>(graph.type(weights).elements()) /
                    static_cast<double>(std::max<std::size_t>(channels, 1));
  // Bytes are taken their zero points, which int8's weights have none of.
  const double weight = graph.type(weights).scalar == ir::Scalar::UInt8 ? 255 : 128;
  return 255 * weight * each + largest_bias;
}

bool has_room_for_halves(const Graph& graph, const Node& node) {
  const auto& shape = graph.type(node.inputs[1]).shape;
  const bool conv = node.op == "QLinearConv";
  const std::size_t axis = conv || node.attributes.at("transB") == 1 ? 0 : 1;
  const ValueId bias = node.inputs.size() > 3 ? node.inputs[3] : kNoValue;
  return axis < shape.size() &&
         largest_sum(graph, node.inputs[1], static_cast<std::size_t>(shape[axis]), bias) +
                 kLargestHalf <=
             kMostOfSum;
}

class Finder {
 public:
  explicit Finder(Graph& graph)
      : graph_(graph), readers_(readers_of(graph)), outputs_(outputs_of(graph)) {
    made_by_.resize(graph.values.size(), kNone);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      made_by_[graph.nodes[n].outputs.front()] = n;
    }
  }

  Result<void> run() {
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].op != "QuantizeLinear") continue;
      auto found = before(graph_.nodes[n]);
      if (!found) return std::move(found).error();
      if (!*found) continue;
      (*found)->name = graph_.nodes[n].name;
      (*found)->outputs = graph_.nodes[n].outputs;
      graph_.nodes[n] = std::move(**found);
    }
    return {};
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  using Found = Result<std::optional<Node>>;

  // The node that makes a value; null: none, or, where it must be alone, others read it too.
  const Node* maker(ValueId id, bool alone) const {
    if (id >= made_by_.size() || made_by_[id] == kNone) return nullptr;
    if (alone && (outputs_[id] || readers_[id].size() != 1)) return nullptr;
    return &graph_.nodes[made_by_[id]];
  }

  // Of a QuantizeLinear or DequantizeLinear; nothing: its scales or zero points are computed.
  std::optional<Integers> meaning_of(const Node& node, ValueId integers) const {
    Integers out{integers, {}, {0}, kNoValue, node.attributes.at("axis")};
    const auto scales = numbers_of(graph_, node.inputs[1]);
    if (!scales) return std::nullopt;
    for (const double scale : *scales) {
      if (!(scale > 0)) return std::nullopt;
      out.scales.push_back(static_cast<float>(scale));
    }
    if (node.inputs.size() > 2) {
      auto zeros = numbers_of(graph_, node.inputs[2]);
      if (!zeros) return std::nullopt;
      out.zeros = std::move(*zeros);
      out.zeros_id = node.inputs[2];
    }
    return out;
  }
  std::optional<Integers> dequantized(ValueId id) const {
    const Node* node = maker(id, false);
    if (!node || node->op != "DequantizeLinear") return std::nullopt;
    return meaning_of(*node, node->inputs[0]);
  }
  // Of bytes, with one scale.
  std::optional<Integers> activation(ValueId id) const {
    auto x = dequantized(id);
    const bool right = x && x->one() && is_byte(graph_.type(x->id).scalar);
    return right ? x : std::nullopt;
  }
  static bool is_byte(ir::Scalar scalar) {
    return scalar == ir::Scalar::Int8 || scalar == ir::Scalar::UInt8;
  }

  // What is stored of a bound.
  static std::int64_t stored(double bound, float scale, const Bounds& bounds) {
    const double whole = std::nearbyint(static_cast<float>(bound) / scale);
    return std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::clamp(whole, -1e6, 1e6)) + bounds.zero, bounds.lowest(),
        bounds.lowest() + 255);
  }

  Found before(const Node& quantize) {
    const auto y = meaning_of(quantize, quantize.outputs.front());
    if (!y || !y->one()) return std::optional<Node>{};
    Bounds bounds{graph_.type(y->id).scalar, 0, 0, static_cast<std::int64_t>(y->zeros[0])};
    bounds.low = bounds.lowest(), bounds.high = bounds.lowest() + 255;
    ValueId value = quantize.inputs[0];
    const Node* node = maker(value, true);
    for (; node && (node->op == "Relu" || node->op == "Clip"); node = maker(value, true)) {
      const bool relu = node->op == "Relu";
      bounds.low =
          std::max(bounds.low,
                   relu ? bounds.zero : stored(node->attributes.at("min"), y->scales[0], bounds));
      if (!relu) {
        bounds.high =
            std::min(bounds.high, stored(node->attributes.at("max"), y->scales[0], bounds));
      }
      value = node->inputs[0];
    }
    if (bounds.low > bounds.high) return std::optional<Node>{};
    if (const auto same = activation(value)) return clipped(*same, *y, bounds);
    if (!node) return std::optional<Node>{};
    if (node->op == "Conv" || node->op == "Gemm" || node->op == "MatMul") {
      return product(*node, *y, bounds, kNoValue);
    }
    if (node->op == "Add") return sum(*node, *y, bounds);
    if (node->op == "ReduceMean") return mean(*node, *y, bounds);
    if (bounds.whole_type()) return moved(*node, *y);
    return std::optional<Node>{};
  }

  static json written(const Bounds& bounds) {
    return {{"to", ir::to_string(ir::DataType{bounds.type})},
            {"low", bounds.low},
            {"high", bounds.high},
            {"zero_point", bounds.zero}};
  }

  Found clipped(const Integers& x, const Integers& y, const Bounds& bounds) const {
    if (!x.means_as(y) || graph_.type(x.id).scalar != bounds.type) return std::optional<Node>{};
    if (bounds.whole_type()) return std::optional(Node{"Identity", "", json::object(), {x.id}, {}});
    const json limits = {{"min", double(bounds.low)}, {"max", double(bounds.high)}};
    return std::optional(Node{"Clip", "", limits, {x.id}, {}});
  }

  // Of what chooses among values.
  Found moved(const Node& node, const Integers& y) const {
    static const char* const kOperators[] = {"MaxPool",   "Flatten", "Reshape",   "Squeeze",
                                             "Unsqueeze", "Concat",  "Transpose", "Identity"};
    const auto is = [&](const char* op) { return node.op == op; };
    if (std::none_of(std::begin(kOperators), std::end(kOperators), is))
      return std::optional<Node>{};
    Node out = node;
    for (ValueId& id : out.inputs) {
      const auto x = activation(id);
      if (!x || !x->means_as(y) || graph_.type(x->id).scalar != graph_.type(y.id).scalar) {
        return std::optional<Node>{};
      }
      id = x->id;
    }
    return std::optional(std::move(out));
  }

  Found product(const Node& node, const Integers& y, const Bounds& bounds, ValueId residual) {
    const auto x = activation(node.inputs[0]);
    const auto w = dequantized(node.inputs[1]);
    if (!x || !w || !graph_.values[w->id].constant || !is_byte(graph_.type(w->id).scalar)) {
      return std::optional<Node>{};
    }
    const json& a = node.attributes;
    const auto& shape = graph_.type(w->id).shape;
    json attributes = written(bounds);
    attributes["x_zero_point"] = static_cast<std::int64_t>(x->zeros[0]);
    std::size_t axis = 0;  // of the weights: the output's channels
    if (node.op == "Conv") {
      for (const char* same : {"strides", "dilations", "pads", "group"}) {
        attributes[same] = a.at(same);
      }
    } else {
      const bool gemm = node.op == "Gemm";
      if (gemm && (a.at("alpha") != 1.0 || a.at("beta") != 1.0 || a.at("transA") != 0)) {
        return std::optional<Node>{};
      }
      if (shape.size() != 2) return std::optional<Node>{};
      attributes["transB"] = gemm ? a.at("transB") : json(0);
      axis = attributes["transB"] == 1 ? 0 : 1;
    }
    const auto channels = static_cast<std::size_t>(shape[axis]);
    const auto along =
        static_cast<std::size_t>(w->axis < 0 ? w->axis + std::int64_t(shape.size()) : w->axis);
    if (w->scales.size() != 1 && (w->scales.size() != channels || along != axis)) {
      return std::optional<Node>{};
    }
    std::vector<float> scales;  // of the sums
    Numbers factor;
    for (const float scale : w->scales) {
      scales.push_back(x->scales[0] * scale);
      factor.push_back(scales.back() / y.scales[0]);
    }
    const std::string name = graph_.values[y.id].name;
    ValueId bias = kNoValue;
    if (node.inputs.size() > 2) {
      auto known = bias_of(node.inputs[2], scales, channels, name + ".bias");
      if (!known) return std::move(known).error();
      if (!*known) return std::optional<Node>{};
      bias = **known;
    }
    if (largest_sum(graph_, w->id, channels, bias) > kMostOfSum) return std::optional<Node>{};
    factor.resize(channels, factor.back());  // one each, whether they differ or not
    auto times = add_constant(graph_, name + ".factor",
                              {ir::Scalar::Float32, {std::int64_t(factor.size())}}, factor);
    if (!times) return std::move(times).error();
    Node out{node.op == "Conv" ? "QLinearConv" : "QLinearMatMul", "", attributes, {}, {}};
    out.inputs = {x->id, w->id, *times, bias, w->symmetric() ? kNoValue : w->zeros_id, residual};
    while (out.inputs.back() == kNoValue) out.inputs.pop_back();
    return std::optional(std::move(out));
  }

  // A bias as int32 of the sums' scales; nothing: it is no constant of that many channels.
  Result<std::optional<ValueId>> bias_of(ValueId id, const std::vector<float>& scales,
                                         std::size_t channels, const std::string& name) {
    const auto scale = [&](std::size_t c) { return scales[scales.size() == 1 ? 0 : c]; };
    std::optional<Numbers> numbers;
    const auto& shape = graph_.type(id).shape;
    if (!shape.empty() && shape.back() != std::int64_t(channels)) return std::optional<ValueId>{};
    if (const auto q = dequantized(id)) {
      numbers = numbers_of(graph_, q->id);
      if (!numbers || numbers->size() != channels || !q->symmetric())
        return std::optional<ValueId>{};
      if (q->scales.size() != 1 && q->scales.size() != channels) return std::optional<ValueId>{};
      bool same = graph_.type(q->id).scalar == ir::Scalar::Int32;
      for (std::size_t c = 0; c < channels; ++c) {
        const float given = q->scales[q->scales.size() == 1 ? 0 : c];
        same &= std::fabs(given - scale(c)) <= 1e-5f * scale(c);
        (*numbers)[c] *= given;
      }
      if (same && shape.size() == 1) return std::optional(q->id);
    } else {
      numbers = numbers_of(graph_, id);
      if (!numbers || numbers->size() != channels) return std::optional<ValueId>{};
    }
    for (std::size_t c = 0; c < channels; ++c) {
      (*numbers)[c] = std::nearbyint((*numbers)[c] / scale(c));
      if (!(std::fabs((*numbers)[c]) <= kMostOfSum)) return std::optional<ValueId>{};
    }
    auto added =
        add_constant(graph_, name, {ir::Scalar::Int32, {std::int64_t(channels)}}, *numbers);
    if (!added) return std::move(added).error();
    return std::optional(*added);
  }

  // Of two values of bytes, or of one and a product that nobody else reads.
  Found sum(const Node& node, const Integers& y, const Bounds& bounds) {
    for (const std::size_t i : {0u, 1u}) {
      const Node* conv = maker(node.inputs[i], true);
      const auto other = activation(node.inputs[1 - i]);
      if (!conv || !other || other->scales != y.scales || !other->symmetric()) continue;
      if (graph_.type(node.inputs[i]).shape != graph_.type(other->id).shape) continue;
      if (conv->op == "Conv" || conv->op == "Gemm" || conv->op == "MatMul") {
        return product(*conv, y, bounds, other->id);
      }
    }
    const auto a = activation(node.inputs[0]), b = activation(node.inputs[1]);
    if (!a || !b) return std::optional<Node>{};
    json attributes = written(bounds);
    const double of_a = double(a->scales[0]) / y.scales[0],
                 of_b = double(b->scales[0]) / y.scales[0];
    // As many bits as leave room for both in an int32; of powers of two no more than they need.
    int bits = 21 - std::ilogb(std::max(of_a, of_b)) - 1;
    const auto power = [](double ratio) { return std::exp2(std::ilogb(ratio)) == ratio; };
    if (power(of_a) && power(of_b)) {
      bits = std::min(bits, std::max(0, -std::ilogb(std::min(of_a, of_b))));
    }
    if (bits < -20 || bits > 60) return std::optional<Node>{};
    attributes.update({{"a_zero_point", static_cast<std::int64_t>(a->zeros[0])},
                       {"b_zero_point", static_cast<std::int64_t>(b->zeros[0])},
                       {"times_a", std::llround(std::ldexp(of_a, bits))},
                       {"times_b", std::llround(std::ldexp(of_b, bits))},
                       {"factor", std::ldexp(1.0, -bits)}});
    return std::optional(Node{"QLinearAdd", "", attributes, {a->id, b->id}, {}});
  }

  Found mean(const Node& node, const Integers& y, const Bounds& bounds) const {
    const auto x = activation(node.inputs[0]);
    const auto& shape = graph_.type(node.inputs[0]).shape;
    if (!x || shape.size() != 4 || node.attributes.at("axes") != json({2, 3}) ||
        node.attributes.at("keepdims") != 1) {
      return std::optional<Node>{};
    }
    json attributes = written(bounds);
    attributes["x_zero_point"] = static_cast<std::int64_t>(x->zeros[0]);
    attributes["factor"] = double(x->scales[0] / (y.scales[0] * float(shape[2] * shape[3])));
    return std::optional(Node{"QLinearGlobalAveragePool", "", attributes, {x->id}, {}});
  }

  Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> outputs_;
  std::vector<std::size_t> made_by_;
};

// Constants that stay dequantised are what they are computed to.
Result<void> fold_dequantized(Graph& graph) {
  std::vector<Node> nodes;
  for (Node& node : graph.nodes) {
    const auto known = [&](ValueId id) { return graph.values[id].constant != nullptr; };
    if (node.op != "DequantizeLinear" ||
        !std::all_of(node.inputs.begin(), node.inputs.end(), known)) {
      nodes.push_back(std::move(node));
      continue;
    }
    std::vector<const TensorType*> types;
    std::vector<TensorBytes> read;
    for (const ValueId id : node.inputs) {
      types.push_back(&graph.type(id));
      read.push_back(graph.values[id].constant);
    }
    auto stages = stages_of(node.op, node.attributes, types);
    if (!stages) return std::move(stages).error();
    auto value = evaluate_node(*stages, read);
    if (!value) return std::move(value).error();
    graph.values[node.outputs.front()].constant = std::move(*value);
  }
  graph.nodes = std::move(nodes);
  return {};
}

}  // namespace

Result<void> compute_in_integers(Graph& graph) {
  if (auto found = Finder(graph).run(); !found) return found;
  drop_unread(graph);
  return fold_dequantized(graph);
}

void round_halves_up(Graph& graph) {
  for (Node& node : graph.nodes) {
    if (node.op != "QLinearConv" && node.op != "QLinearMatMul") continue;
    if (!has_room_for_halves(graph, node)) continue;
    const auto factor = node.inputs.size() > 2 && node.inputs[2] != kNoValue
                            ? numbers_of(graph, node.inputs[2])
                            : std::nullopt;
    if (!factor || factor->empty()) continue;
    const double first = factor->front();
    const bool one =
        std::all_of(factor->begin(), factor->end(), [&](double other) { return other == first; });
    if (!one || !(first > 0)) continue;
    const int bits = -std::ilogb(first);
    if (std::ldexp(1.0, -bits) != first || bits < 1 || bits > 30) continue;
    node.attributes["shift"] = bits;
    node.inputs[2] = kNoValue;
    while (node.inputs.back() == kNoValue) node.inputs.pop_back();
  }
}

}  // namespace fettle::model
