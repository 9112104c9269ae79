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

// Unsupported: its type, or data in another file. InvalidArgument: its data are not as long as its
// shape says.
Result<OnnxTensor> read_tensor(const onnx::TensorProto& tensor);
// Of a TensorProto::DataType. Unsupported names it.
Result<ir::Scalar> scalar_of(int data_type);

}  // namespace fettle::model
