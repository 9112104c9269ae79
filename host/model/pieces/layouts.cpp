// Layouts of values (layouts.h).
#include "host/model/pieces/layouts.h"

#include "host/model/operators/operators.h"
#include "host/model/pieces/library_call.h"

namespace fettle::model {
namespace {

// What a node writes that takes values as they lie.
Order as_its_inputs(const Graph& graph, const Node& node, const std::vector<Order>& orders) {
  const std::size_t rank = graph.type(node.outputs.front()).shape.size();
  for (const ValueId id : node.inputs) {
    if (id == kNoValue || graph.values[id].constant) continue;
    if (graph.type(id).shape.size() == rank && !orders[id].empty()) {
      return without_blocks(orders[id], rank);
    }
  }
  return {};
}

Order written_by(const Graph& graph, const Node& node, const std::vector<Order>& orders) {
  if (node.op == "Identity") return orders[node.inputs[0]];
  if (node.op == "Transpose") {
    const Shape permutation = permutation_of(node);
    return after_transposition(without_blocks(orders[node.inputs[0]], permutation.size()),
                               permutation);
  }
  if (moves_nothing(node)) return {};
  const Order kept = as_its_inputs(graph, node, orders);
  const auto call = library_call(graph, node, kept);
  return call ? call->written : kept;
}

}  // namespace

Shape permutation_of(const Node& node) { return node.attributes.at("perm"); }

bool moves_nothing(const Node& node) {
  return node.op == "Transpose" || find_operator(node.op)->view;
}

Layouts layouts_of(const Graph& graph, const Accelerates& accelerates) {
  Layouts out;
  out.orders.resize(graph.values.size());
  for (const Node& node : graph.nodes) {
    const ValueId output = node.outputs.front();
    out.accelerated.push_back(accelerated(graph, node, out.orders, accelerates));
    Order written = out.accelerated.back() ? out.accelerated.back()->call.written
                                           : written_by(graph, node, out.orders);
    out.orders[output] = normal(std::move(written), graph.type(output).shape);
  }
  return out;
}

}  // namespace fettle::model
