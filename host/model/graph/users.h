// Who reads a value.
#pragma once

#include "host/model/graph/graph.h"

namespace fettle::model {

// Of each value the nodes that read it, by place; one that reads it twice is there twice.
std::vector<std::vector<std::size_t>> readers_of(const Graph& graph);
// Of each value, whether it is an output of the graph.
std::vector<bool> outputs_of(const Graph& graph);
// The node that alone reads a value; null: none, several, or the graph's user as well.
const Node* only_reader(const Graph& graph, const std::vector<std::vector<std::size_t>>& readers,
                        const std::vector<bool>& outputs, ValueId id);

// Removes the nodes that no output needs.
void drop_unread(Graph& graph);

}  // namespace fettle::model
