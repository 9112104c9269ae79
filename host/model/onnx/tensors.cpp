// ONNX's tensors (tensors.h). Their data are raw bytes, or a list of numbers of a wider type.
#include "host/model/onnx/tensors.h"

#include <cstring>

#include "host/model/onnx/onnx_proto.h"

namespace fettle::model {
namespace {

using onnx::TensorProto;

template <typename Element, typename List>
void append(const List& list, std::vector<std::uint8_t>& bytes) {
  bytes.resize(static_cast<std::size_t>(list.size()) * sizeof(Element));
  for (int i = 0; i < list.size(); ++i) {
    const auto element = static_cast<Element>(list.Get(i));
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof element, &element,
                sizeof element);
  }
}

void append_numbers(const TensorProto& tensor, std::vector<std::uint8_t>& bytes) {
  switch (tensor.data_type()) {
    case TensorProto::FLOAT:
      return append<float>(tensor.float_data(), bytes);
    case TensorProto::DOUBLE:
      return append<double>(tensor.double_data(), bytes);
    case TensorProto::INT64:
      return append<std::int64_t>(tensor.int64_data(), bytes);
    case TensorProto::INT32:
      return append<std::int32_t>(tensor.int32_data(), bytes);
    case TensorProto::INT16:
    case TensorProto::FLOAT16:  // its bits
      return append<std::uint16_t>(tensor.int32_data(), bytes);
    default:
      return append<std::uint8_t>(tensor.int32_data(), bytes);
  }
}

}  // namespace

Result<ir::Scalar> scalar_of(int data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
      return ir::Scalar::Float32;
    case TensorProto::FLOAT16:
      return ir::Scalar::Float16;
    case TensorProto::DOUBLE:
      return ir::Scalar::Float64;
    case TensorProto::INT8:
      return ir::Scalar::Int8;
    case TensorProto::UINT8:
      return ir::Scalar::UInt8;
    case TensorProto::INT16:
      return ir::Scalar::Int16;
    case TensorProto::INT32:
      return ir::Scalar::Int32;
    case TensorProto::INT64:
      return ir::Scalar::Int64;
    case TensorProto::BOOL:
      return ir::Scalar::Bool;
    default:
      return Error{ErrorCode::Unsupported,
                   "tensors of type " + (TensorProto::DataType_IsValid(data_type)
                                             ? TensorProto::DataType_Name(data_type)
                                             : std::to_string(data_type))};
  }
}

Result<OnnxTensor> read_tensor(const TensorProto& tensor) {
  const auto named = [&](const std::string& what) {
    return "tensor '" + tensor.name() + "' " + what;
  };
  auto scalar = scalar_of(tensor.data_type());
  if (!scalar) {
    return Error{scalar.error().code, named("is one of " + scalar.error().message)};
  }
  if (tensor.data_location() == TensorProto::EXTERNAL || tensor.has_segment()) {
    return Error{ErrorCode::Unsupported, named("has its data in another file")};
  }
  OnnxTensor out;
  out.type.scalar = *scalar;
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0 || (extent > 0 && count > (std::int64_t{1} << 30) / extent)) {
      return Error{ErrorCode::InvalidArgument, named("has an impossible shape")};
    }
    count *= extent;
    out.type.shape.push_back(extent);
  }
  if (tensor.has_raw_data()) {
    out.bytes.assign(tensor.raw_data().begin(), tensor.raw_data().end());
  } else {
    append_numbers(tensor, out.bytes);
  }
  if (static_cast<std::int64_t>(out.bytes.size()) != out.type.bytes()) {
    return Error{ErrorCode::InvalidArgument,
                 named("has " + std::to_string(out.bytes.size()) + " bytes of data, its shape " +
                       to_string(out.type) + " needs " + std::to_string(out.type.bytes()))};
  }
  return out;
}

}  // namespace fettle::model
