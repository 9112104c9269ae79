// The inputs of an ONNX model: what the file states of them, and what the user adds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/model/graph/graph.h"
#include "host/model/onnx/import.h"

namespace onnx {
class GraphProto;
}

namespace fettle::model {

struct ModelInput {
  std::string name;
  TensorType type;
  std::optional<std::vector<std::uint8_t>> known;  // it becomes a constant
};

// Those that are no initializers, in the file's order. InvalidArgument: extents that are open (all
// in one message), options that fit no input. Unsupported: what is no tensor of a known shape.
Result<std::vector<ModelInput>> model_inputs(const onnx::GraphProto& graph,
                                             const OnnxOptions& options);

}  // namespace fettle::model
