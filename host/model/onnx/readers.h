// What readers share.
#pragma once

#include "host/model/onnx/node_reader.h"

namespace fettle::model {

using nlohmann::json;

// One node of the same name, with these attributes and the first `count` inputs.
inline Outputs one(const NodeReader& node, const std::string& op, json attributes,
                   std::vector<ValueId> inputs) {
  auto id = node.add(op, std::move(attributes), std::move(inputs));
  if (!id) return std::move(id).error();
  return std::vector<ValueId>{*id};
}
inline Outputs one(const NodeReader& node, json attributes = json::object()) {
  return one(node, node.op(), std::move(attributes), node.all_inputs());
}

// Those of the second input that are known name elements of axes of these extents, one after the
// other.
Result<void> check_known_places(const NodeReader& node, const NodeReader::List& extents);

// strides, dilations, pads and group of a convolution of input 0 by the weights that input `weight`
// is.
Result<json> convolution_window(const NodeReader& node, std::size_t weight);

// kernel_shape, strides, dilations, pads and ceil_mode of one that pools input 0.
Result<json> pooling_window(const NodeReader& node);

// The values along an axis, one behind the other. A stage reads all of what it joins, and its text
// has an end: of many, some are joined first.
Result<ValueId> concatenated(const NodeReader& node, std::vector<ValueId> parts, std::int64_t axis);

}  // namespace fettle::model
