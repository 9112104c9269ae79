// The order in which the nodes of an ONNX graph can be taken.
#pragma once

#include <vector>

namespace onnx {
class GraphProto;
}

namespace fettle::model {

// Indices of graph.node(): as they stand in the file, but for those that stand before what they,
// or branches within them, read, as some tools leave them. Those that read one another in a circle
// stand at the end.
std::vector<int> node_order(const onnx::GraphProto& graph);

}  // namespace fettle::model
