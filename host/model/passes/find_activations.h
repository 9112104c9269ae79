// Activations that exporters write out become one node each:
//
//   Gelu       x (1 + erf(x / sqrt 2)) / 2, halved at the start or at the end
//   Swish      x Sigmoid(x)
//   HardSwish  x HardSigmoid(x) with alpha 1/6 and beta 1/2, or x Clip(x + 3, 0, 6) / 6, divided
//              before the product or behind it
//
// Where another node, or the graph's reader, wants what is between, the nodes stay.
#pragma once

#include "host/model/graph/graph.h"

namespace fettle::model {

void find_activations(Graph& graph);

}  // namespace fettle::model
