// Recognises an activation by the node that only it has (find_activations.h).
#include "host/model/passes/find_activations.h"

#include <cmath>
#include <optional>

#include "host/model/graph/users.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

struct Found {
  const Node* last;  // of the nodes that are one activation
  ValueId x;         // what it is of
  const char* op;
};

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), readers_(readers_of(graph)), outputs_(outputs_of(graph)) {
    made_by_.resize(graph.values.size());
    for (const Node& node : graph.nodes) made_by_[node.outputs.front()] = &node;
  }

  std::optional<Found> around(const Node& node) const {
    const auto found = node.op == "Erf"           ? gelu(node)
                       : node.op == "Sigmoid"     ? gated(node, node.inputs[0], "Swish")
                       : node.op == "HardSigmoid" ? hard_swish(node)
                       : node.op == "Clip"        ? hard_swish_by_clip(node)
                                                  : std::nullopt;
    if (!found || !ir::DataType{graph_.type(found->x).scalar}.is_float()) return std::nullopt;
    // A constant with more axes than x gives the result more.
    if (graph_.type(found->last->outputs[0]) != graph_.type(found->x)) return std::nullopt;
    return found;
  }

 private:
  std::optional<Found> gelu(const Node& erf) const {
    const Node* scaled = made_by_[erf.inputs[0]];
    if (!scaled || !alone(erf.inputs[0])) return std::nullopt;
    const ValueId x = divided(*scaled, std::sqrt(2.0));
    const Node* sum = reader(erf);
    if (x == kNoValue || !sum || sum->op != "Add" || beside(*sum, 1) != erf.outputs[0]) {
      return std::nullopt;
    }
    const Node* product = reader(*sum);
    if (!product || product->op != "Mul") return std::nullopt;
    const ValueId factor = other(*product, sum->outputs[0]);
    // Halved before: (x / 2) (1 + erf), or behind.
    if (const Node* half = made_by_[factor]; factor != x && half) {
      if (divided(*half, 2) != x || !alone(factor)) return std::nullopt;
      return Found{product, x, "Gelu"};
    }
    const Node* last = reader(*product);
    if (factor != x || !last || divided(*last, 2) != product->outputs[0]) return std::nullopt;
    return Found{last, x, "Gelu"};
  }

  // x times what the gate makes of it.
  std::optional<Found> gated(const Node& gate, ValueId x, const char* op) const {
    const Node* last = times(gate, x);
    if (!last) return std::nullopt;
    return Found{last, x, op};
  }

  std::optional<Found> hard_swish(const Node& gate) const {
    const double alpha = gate.attributes.at("alpha"), beta = gate.attributes.at("beta");
    if (std::fabs(alpha - 1.0 / 6) > 1e-6 || beta != 0.5) return std::nullopt;
    return gated(gate, gate.inputs[0], "HardSwish");
  }

  std::optional<Found> hard_swish_by_clip(const Node& clip) const {
    const double low = clip.attributes.at("min"), high = clip.attributes.at("max");
    const Node* sum = made_by_[clip.inputs[0]];
    if (low != 0 || high != 6 || !sum || sum->op != "Add" || !alone(clip.inputs[0])) {
      return std::nullopt;
    }
    const ValueId x = beside(*sum, 3);
    if (x == kNoValue) return std::nullopt;
    const Node* product = times(clip, x);
    const Node* sixth = reader(product ? *product : clip);
    if (!sixth || divided(*sixth, 6) == kNoValue) return std::nullopt;
    return product ? Found{sixth, x, "HardSwish"} : gated(*sixth, x, "HardSwish");
  }

  bool alone(ValueId id) const { return readers_[id].size() == 1 && !outputs_[id]; }

  const Node* reader(const Node& of) const {
    return only_reader(graph_, readers_, outputs_, of.outputs[0]);
  }

  static ValueId other(const Node& node, ValueId id) {
    return node.inputs[0] == id ? node.inputs[1] : node.inputs[0];
  }

  // The product of what the node makes and x, if nobody else reads the former.
  const Node* times(const Node& factor, ValueId x) const {
    const Node* product = reader(factor);
    const bool right = product && product->op == "Mul" && other(*product, factor.outputs[0]) == x &&
                       x != factor.outputs[0];
    return right ? product : nullptr;
  }

  // What the node divides by that number; kNoValue: it does not.
  ValueId divided(const Node& node, double by) const {
    if (node.op == "Div") return number(node.inputs[1], by) ? node.inputs[0] : kNoValue;
    return node.op == "Mul" ? beside(node, 1 / by) : kNoValue;
  }

  // Of a constant of one element.
  bool number(ValueId id, double wanted) const {
    const Value& value = graph_.values[id];
    if (!value.constant || value.type.elements() != 1) return false;
    const auto numbers = space::to_doubles(*value.constant, {value.type.scalar, 1});
    return numbers && std::fabs(numbers->front() - wanted) <= 1e-6 * std::fabs(wanted);
  }
  // The input beside that number; kNoValue: there is none.
  ValueId beside(const Node& node, double wanted) const {
    if (number(node.inputs[1], wanted)) return node.inputs[0];
    return number(node.inputs[0], wanted) ? node.inputs[1] : kNoValue;
  }

  const Graph& graph_;
  std::vector<std::vector<std::size_t>> readers_;
  std::vector<bool> outputs_;
  std::vector<const Node*> made_by_;
};

}  // namespace

void find_activations(Graph& graph) {
  std::vector<Found> found;
  const Finder finder(graph);
  for (const Node& node : graph.nodes) {
    if (const auto one = finder.around(node)) found.push_back(*one);
  }
  for (const Found& one : found) {
    Node& node = graph.nodes[static_cast<std::size_t>(one.last - graph.nodes.data())];
    node.op = one.op;
    node.attributes = nlohmann::json::object();
    node.inputs = {one.x};
  }
  drop_unread(graph);
}

}  // namespace fettle::model
