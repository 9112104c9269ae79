// A batch norm with constant factors behind a convolution becomes part of its weights and bias; one
// that stands alone becomes a product and a sum.
#pragma once

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace fettle::model {

// Values change by the roundings of the folded weights only. Internal: the graph is none.
Result<void> fold_batch_norms(Graph& graph);

}  // namespace fettle::model
