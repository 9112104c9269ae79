// A network from an ONNX file: opsets 7 to 17, and earlier and later ones as far as their operators
// mean the same. Shapes are static: what a model leaves open is given.
#pragma once

#include <map>
#include <string>

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace fettle::model {

struct OnnxOptions {
  // Extents that the model does not state, by its names for them, such as {"batch", 1}, or by input
  // and axis, {"image.0", 1}, where it has none.
  std::map<std::string, std::int64_t> extents;
  // Inputs that are always this: they become constants.
  std::map<std::string, std::pair<TensorType, std::vector<std::uint8_t>>> known_inputs;
};

// NotFound, InvalidArgument: no such file, none of ONNX, or one that is wrong in itself.
// Unsupported: all operators that are not known, each with a node that has it, in one message; or
// what an operator is asked that it does not do here.
Result<Graph> import_onnx(const std::string& path, const OnnxOptions& options = {});

}  // namespace fettle::model
