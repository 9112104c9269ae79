// What nodes meant before opset 7 (old_meaning.h).
#include "host/model/onnx/old_meaning.h"

namespace fettle::model {

Result<void> take_old_meaning(const NodeReader& node, GraphBuilder& builder,
                              std::vector<ValueId>& inputs) {
  if (node.has("is_test") && node.integer("is_test", 1) == 0) return node.unsupported("training");
  if (node.integer("spatial", 1) == 0) return node.unsupported("norms of single elements");
  const bool slopes = node.op() == "PRelu";
  const bool placed = node.integer("broadcast", 0) == 1 && node.has("axis");
  if ((!slopes && !placed) || !node.has_input(0) || !node.has_input(1)) return {};
  const auto rank = static_cast<std::int64_t>(node.shape(0).size());
  NodeReader::List shape = node.shape(1);
  std::int64_t axis = slopes ? 1 : node.integer("axis", 0);
  if (axis < 0) axis += rank;
  const auto size = static_cast<std::int64_t>(shape.size());
  if (slopes && (size != 1 || shape[0] == 1 || rank < 2)) return {};
  if (axis < 0 || axis + size > rank) return node.invalid("its second operand has no place");
  shape.resize(static_cast<std::size_t>(rank - axis), 1);
  auto moved = builder.add("Reshape", {{"shape", shape}, {"allowzero", 0}}, {inputs[1]}, "");
  if (!moved) return std::move(moved).error();
  inputs[1] = *moved;
  return {};
}

}  // namespace fettle::model
