// Constants of a graph as numbers (constants.h).
#include "host/model/graph/constants.h"

#include "host/space/tensor.h"

namespace fettle::model {

std::optional<Numbers> numbers_of(const Graph& graph, ValueId id) {
  const Value& value = graph.values[id];
  if (!value.constant) return std::nullopt;
  auto numbers = space::to_doubles(*value.constant, {value.type.scalar, 1});
  if (!numbers) return std::nullopt;
  return std::move(*numbers);
}

Result<ValueId> add_constant(Graph& graph, const std::string& name, const TensorType& type,
                             const Numbers& numbers) {
  auto bytes = space::to_bytes(numbers, {type.scalar, 1});
  if (!bytes) return std::move(bytes).error();
  graph.values.push_back(
      {name, type, std::make_shared<const std::vector<std::uint8_t>>(std::move(*bytes))});
  return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace fettle::model
