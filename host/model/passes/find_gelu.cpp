// Recognises Gelu by its Erf (find_gelu.h).
#include "host/model/passes/find_gelu.h"

#include <cmath>

#include "host/model/graph/users.h"
#include "host/space/tensor.h"

namespace fettle::model {
namespace {

class Finder {
 public:
  explicit Finder(const Graph& graph)
      : graph_(graph), readers_(readers_of(graph)), outputs_(outputs_of(graph)) {
    made_by_.resize(graph.values.size());
    for (const Node& node : graph.nodes) made_by_[node.outputs.front()] = &node;
  }

  // The last node of the Gelu around an Erf and what it is of; null: it is none.
  std::pair<const Node*, ValueId> around(const Node& erf) const {
    const Node* scaled = made_by_[erf.inputs[0]];
    if (!scaled || !alone(erf.inputs[0])) return {};
    const double root = std::sqrt(2.0);
    ValueId x = kNoValue;
    if (scaled->op == "Div" && number(scaled->inputs[1], root)) x = scaled->inputs[0];
    if (scaled->op == "Mul") x = beside(*scaled, 1 / root);
    const Node* sum = only_reader(graph_, readers_, outputs_, erf.outputs[0]);
    if (x == kNoValue || !sum || sum->op != "Add" || beside(*sum, 1) != erf.outputs[0]) return {};
    const Node* product = only_reader(graph_, readers_, outputs_, sum->outputs[0]);
    if (!product || product->op != "Mul") return {};
    const ValueId other =
        product->inputs[0] == sum->outputs[0] ? product->inputs[1] : product->inputs[0];
    // Halved before: (x / 2) (1 + erf), or behind.
    if (const Node* half = made_by_[other]; other != x && half) {
      const bool right = half->op == "Mul" && beside(*half, 0.5) == x && alone(other);
      return right ? std::pair{product, x} : std::pair<const Node*, ValueId>{};
    }
    const Node* last = only_reader(graph_, readers_, outputs_, product->outputs[0]);
    if (other != x || !last || last->op != "Mul") return {};
    return beside(*last, 0.5) == product->outputs[0] ? std::pair{last, x}
                                                     : std::pair<const Node*, ValueId>{};
  }

 private:
  bool alone(ValueId id) const { return readers_[id].size() == 1 && !outputs_[id]; }
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

void find_gelus(Graph& graph) {
  std::vector<std::pair<std::size_t, ValueId>> found;  // the last node's place, and what it is of
  const Finder finder(graph);
  for (const Node& node : graph.nodes) {
    if (node.op != "Erf") continue;
    const auto [last, x] = finder.around(node);
    if (last) found.emplace_back(static_cast<std::size_t>(last - graph.nodes.data()), x);
  }
  for (const auto& [place, x] : found) {
    Node& node = graph.nodes[place];
    node.op = "Gelu";
    node.attributes = nlohmann::json::object();
    node.inputs = {x};
  }
  drop_unread(graph);
}

}  // namespace fettle::model
