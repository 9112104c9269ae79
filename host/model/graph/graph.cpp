// Words for graphs (graph.h).
#include "host/model/graph/graph.h"

namespace fettle::model {

std::int64_t TensorType::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::string to_string(const TensorType& type) {
  std::string text = ir::to_string(ir::DataType{type.scalar});
  for (std::size_t d = 0; d < type.shape.size(); ++d) {
    text += (d ? "x" : " ") + std::to_string(type.shape[d]);
  }
  return text;
}

std::string to_text(const Graph& graph) {
  std::string text;
  const auto list = [&](const std::vector<ValueId>& ids) {
    std::string words;
    for (const ValueId id : ids) {
      if (!words.empty()) words += ", ";
      words += id == kNoValue ? "-" : graph.values[id].name;
    }
    return words;
  };
  for (const Node& node : graph.nodes) {
    text += list(node.outputs) + " = " + node.op + "(" + list(node.inputs) + ")";
    if (!node.attributes.empty()) text += " " + node.attributes.dump();
    text += "  # " + to_string(graph.type(node.outputs.front())) + "\n";
  }
  return text;
}

}  // namespace fettle::model
