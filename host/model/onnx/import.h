// A network from an ONNX file: opsets 7 to 20, and earlier and later ones as far as their operators
// mean the same. Shapes are static: what a model leaves open is given.
#pragma once

#include <functional>
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
  // The same by numbers, one for all elements or as many as there are; a list's extent may be open.
  std::map<std::string, std::vector<double>> known_numbers = {};
  // Told what a user should know of a model that is taken; null: nobody is.
  std::function<void(const std::string&)> warn = nullptr;
};

// NotFound, InvalidArgument: no such file, none of ONNX, one that is wrong in itself, extents that
// are open still (all of them in one message), or one that was given and is not open.
// Unsupported: all operators that are not known, and all that operators are asked and do not do
// here, each with a node that has it, in one message.
Result<Graph> import_onnx(const std::string& path, const OnnxOptions& options = {});

}  // namespace fettle::model
