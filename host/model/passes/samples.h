// Samples of what a network is given, and who computes what it makes of them.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "host/model/graph/node_stages.h"
#include "schemas/wire/result.h"

namespace fettle::model {

using Sample = std::vector<TensorBytes>;  // of all inputs, as the graph lists them

// Computes the outputs of the graph that it was made for, as that lists them. One sample at a time.
using Evaluator = std::function<Result<std::vector<TensorBytes>>(const Sample&)>;

// Slow and plain. Canceled: soon after `stop`.
Evaluator by_reference(Graph graph, std::stop_token stop = {});

}  // namespace fettle::model
