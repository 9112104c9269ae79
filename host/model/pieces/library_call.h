// A node as an operator of the library (host/space/operators), where it is one.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "host/model/graph/graph.h"

namespace fettle::model {

// Its fields but "tail", which holds "bias" where the node adds one; nothing: it is none of them.
// Images are channels last: what a piece's input and output lie like is whoever runs it to see to.
std::optional<nlohmann::json> library_call(const Graph& graph, const Node& node);

// What a node does to the value `to` as a step of a tail; nothing: it is none. A sum with a
// constant per channel (the axis `channel` of the value) is "bias".
std::optional<std::string> tail_step(const Graph& graph, const Node& node, ValueId to,
                                     std::size_t channel);

}  // namespace fettle::model
