// How the values of a network lie in memory: images channels last, where an operator of the
// library makes or has made them; all else row-major.
#pragma once

#include <vector>

#include "host/model/pieces/order.h"

namespace fettle::model {

// Of each value, as the piece that makes it writes it; normal(). Nodes that do not care write what
// they read; graph inputs are row-major.
std::vector<Order> layouts_of(const Graph& graph);

// Of a Transpose: axis d of its output is axis permutation[d] of its input.
Shape permutation_of(const Node& node);
// Whether its output is its input with its axes renamed or reshaped: no code runs for it.
bool moves_nothing(const Node& node);

}  // namespace fettle::model
