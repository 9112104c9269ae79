// Readers of values (users.h).
#include "host/model/graph/users.h"

#include <algorithm>

namespace fettle::model {

std::vector<std::vector<std::size_t>> readers_of(const Graph& graph) {
  std::vector<std::vector<std::size_t>> readers(graph.values.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId id : graph.nodes[n].inputs) {
      if (id != kNoValue) readers[id].push_back(n);
    }
  }
  return readers;
}

std::vector<bool> outputs_of(const Graph& graph) {
  std::vector<bool> outputs(graph.values.size());
  for (const ValueId id : graph.outputs) outputs[id] = true;
  return outputs;
}

const Node* only_reader(const Graph& graph, const std::vector<std::vector<std::size_t>>& readers,
                        const std::vector<bool>& outputs, ValueId id) {
  if (outputs[id] || readers[id].size() != 1) return nullptr;
  return &graph.nodes[readers[id].front()];
}

void drop_unread(Graph& graph) {
  std::vector<bool> needed = outputs_of(graph);
  std::vector<Node> nodes;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!needed[node->outputs.front()]) continue;
    for (const ValueId id : node->inputs) {
      if (id != kNoValue) needed[id] = true;
    }
    nodes.push_back(std::move(*node));
  }
  std::reverse(nodes.begin(), nodes.end());
  graph.nodes = std::move(nodes);
}

}  // namespace fettle::model
