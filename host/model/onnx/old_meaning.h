// What nodes meant before opset 7.
#pragma once

#include <vector>

#include "host/model/onnx/node_reader.h"

namespace fettle::model {

// A second operand's axes stood from `axis` on, not at the end: `inputs`, those of the node, are
// made to mean the same today. A node could be one of training: Unsupported.
Result<void> take_old_meaning(const NodeReader& node, GraphBuilder& builder,
                              std::vector<ValueId>& inputs);

}  // namespace fettle::model
