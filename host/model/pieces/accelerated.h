// Nodes that an accelerator beside the CPU computes, on images with their channels in blocks.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "host/model/pieces/library_call.h"
#include "host/space/workload.h"

namespace fettle::model {

// Whether the accelerator does a workload; null: there is none.
using Accelerates = std::function<bool(const space::Workload&)>;

struct AcceleratedNode {
  LibraryCall call;
  space::Workload workload;
};

// Convolutions of int8 that are shifted back to int8 (round_halves_up), and the largest under
// windows where their images are in blocks already, which is worth no copy. Nothing: the CPU's.
// `orders`: of each value.
std::optional<AcceleratedNode> accelerated(const Graph& graph, const Node& node,
                                           const std::vector<Order>& orders,
                                           const Accelerates& accelerates);

}  // namespace fettle::model
