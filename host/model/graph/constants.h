// Constants of a graph as numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace fettle::model {

using Numbers = std::vector<double>;

// Nothing: it is computed, or an input.
std::optional<Numbers> numbers_of(const Graph& graph, ValueId id);
// A new one, each number rounded as the type is.
Result<ValueId> add_constant(Graph& graph, const std::string& name, const TensorType& type,
                             const Numbers& numbers);

}  // namespace fettle::model
