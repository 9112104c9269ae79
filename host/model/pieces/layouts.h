// How the values of a network lie in memory: images channels last, where an operator of the
// library makes or has made them, or in blocks of channels, where an accelerator does; all else
// row-major.
#pragma once

#include <vector>

#include "host/model/pieces/accelerated.h"

namespace fettle::model {

struct Layouts {
  // Of each value, as the piece that makes it writes it; normal(). Nodes that do not care write
  // what they read; graph inputs are row-major.
  std::vector<Order> orders;
  std::vector<std::optional<AcceleratedNode>> accelerated;  // of each node
};
Layouts layouts_of(const Graph& graph, const Accelerates& accelerates);

// Of a Transpose: axis d of its output is axis permutation[d] of its input.
Shape permutation_of(const Node& node);
// Whether its output is its input with its axes renamed or reshaped: no code runs for it.
bool moves_nothing(const Node& node);

}  // namespace fettle::model
