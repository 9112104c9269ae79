// A node as an operator of the library (host/space/operators), where it is one.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "host/model/graph/graph.h"
#include "host/model/pieces/order.h"

namespace fettle::model {

struct LibraryCall {
  nlohmann::json fields;        // "tail" holds "bias" where the node adds one
  std::vector<Operand> inputs;  // one per placeholder of its DAG, in their order
  Order written;                // how its output lies
};

// Nothing: it is none of them. Images are channels last; what an elementwise operator reads and
// writes lies in `order`, which is of its output's axes; all else is row-major.
std::optional<LibraryCall> library_call(const Graph& graph, const Node& node, const Order& order);

// What a node does to the value `to` as a step of a tail.
struct TailStep {
  std::string step;
  ValueId other = kNoValue;  // what it reads beside: a constant per channel, or a tensor
};
// Nothing: it is none. A sum with a constant per channel (the axis `channel` of the value) is
// "bias".
std::optional<TailStep> tail_step(const Graph& graph, const Node& node, ValueId to,
                                  std::size_t channel);

}  // namespace fettle::model
