// x (1 + erf(x / sqrt 2)) / 2, written out as exporters do, becomes one Gelu.
#pragma once

#include "host/model/graph/graph.h"

namespace fettle::model {

void find_gelus(Graph& graph);

}  // namespace fettle::model
