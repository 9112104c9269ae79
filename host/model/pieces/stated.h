// A node stated by its own stages, for what is no operator of the library.
#pragma once

#include <vector>

#include "host/model/pieces/order.h"
#include "host/space/workload.h"
#include "schemas/wire/result.h"

namespace fettle::model {

struct StatedNode {
  space::Workload workload;
  std::vector<Operand> inputs;  // one per placeholder of its DAG, in their order
  Order written;                // how its output lies
};

// Reads values as they lie (`orders`: of each value of the graph; constants row-major; what is in
// blocks with its channels last) and writes
// its output so, too, where its stages have the output's axes; row-major else. Errors as of
// stages_of() and Workload::parse().
Result<StatedNode> state_node(const Graph& graph, const Node& node,
                              const std::vector<Order>& orders);

}  // namespace fettle::model
