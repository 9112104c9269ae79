// Graphs evaluated by code for this machine's CPU, for work that the reference is too slow for.
#pragma once

#include <functional>
#include <stop_token>

#include "host/model/passes/samples.h"
#include "host/network/build_network.h"

namespace fettle::app {

// Compiles all of the graph, untuned, for all cores; its outputs are computed ones, each there
// once. Runs in this process. What compile_pieces() says: Unsupported, where a node cannot be
// compiled, Canceled.
Result<model::Evaluator> cpu_evaluator(
    const model::Graph& graph, const std::stop_token& stop,
    const std::function<void(const network::BuildProgress&)>& progress);

}  // namespace fettle::app
