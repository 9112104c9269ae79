// Tensors and types of ONNX as ours.
#pragma once

#include "host/model/graph/graph.h"
#include "schemas/wire/result.h"

namespace onnx {
class TensorProto;
}

namespace fettle::model {

struct OnnxTensor {
  TensorType type;
  std::vector<std::uint8_t> bytes;
};

// Its data may be in a file in `folder`, or below it; "": in none. Unsupported: its type, or data
// in another file. InvalidArgument: its data are not as long as its shape says, or its file lies
// elsewhere. NotFound: its file cannot be read.
Result<OnnxTensor> read_tensor(const onnx::TensorProto& tensor, const std::string& folder = "");
// Of a TensorProto::DataType. Unsupported names it.
Result<ir::Scalar> scalar_of(int data_type);

}  // namespace fettle::model
