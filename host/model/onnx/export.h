// A graph as an ONNX file, of opset 17.
#pragma once

#include <string>

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace onnx {
class ModelProto;
}

namespace fettle::model {

// Read again it is the same graph. The parts of `path`'s folder exist; no half-written file stays.
// Unsupported: an operator that the importer alone makes, such as QLinearAdd; what
// process::replace_file() says; Internal: larger than an ONNX file can be.
Result<void> export_onnx(const Graph& graph, const std::string& path);

// Whether it can be written at all. Unsupported: all operators that cannot, each with a node.
Result<void> check_onnx_exportable(const Graph& graph);

// The same of a model that is ONNX's already.
Result<void> write_model(const onnx::ModelProto& model, const std::string& path);

}  // namespace fettle::model
