// The passes that every network goes through before it is cut into pieces.
#pragma once

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// Batch norms folded, activations that are written out found, quantised parts in integers.
// Internal: the graph is none.
Result<void> run_passes(Graph& graph);

}  // namespace fettle::model
