// The accelerator's nodes (accelerated.h).
#include "host/model/pieces/accelerated.h"

#include "host/space/operators/packed.h"

namespace fettle::model {

std::optional<AcceleratedNode> accelerated(const Graph& graph, const Node& node,
                                           const std::vector<Order>& orders,
                                           const Accelerates& accelerates) {
  const bool convolution = node.op == "QLinearConv" && node.attributes.contains("shift");
  const bool pool = node.op == "MaxPool" && has_blocks(orders[node.inputs[0]], 4);
  if (!accelerates || !(convolution || pool)) return std::nullopt;
  auto call = library_call(graph, node, {});
  if (!call || call->fields["dtype"] != "int8") return std::nullopt;
  call->fields["layout"] = space::kPackedImages;
  for (Operand& operand : call->inputs) {
    if (operand.order == kChannelsLast) operand.order = kImageBlocks;
    if (operand.order == kAcrossLast) operand.order = kWeightBlocks;
  }
  call->written = kImageBlocks;
  auto workload = space::Workload::parse(call->fields);
  if (!workload || !accelerates(*workload)) return std::nullopt;
  return AcceleratedNode{std::move(*call), std::move(*workload)};
}

}  // namespace fettle::model
