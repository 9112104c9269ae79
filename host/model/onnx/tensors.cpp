// ONNX's tensors (tensors.h). Their data are raw bytes, or a list of numbers of a wider type.
#include "host/model/onnx/tensors.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

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

// A whole number of a file, which is not below 0; empty: it is none.
std::optional<std::int64_t> count_of(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// What lies in another file: beside the model or below it, so that a model reads nothing else.
Result<std::vector<std::uint8_t>> external_bytes(const TensorProto& tensor,
                                                 const std::string& folder, std::int64_t bytes) {
  const auto invalid = [](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, what};
  };
  std::string location;
  std::int64_t offset = 0;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto count = count_of(entry.value());
    if (!count)
      return invalid("has '" + entry.value() + "' as the " + entry.key() + " of its data");
    if (entry.key() == "offset") offset = *count;
    if (entry.key() == "length" && *count != bytes) {
      return invalid("has " + entry.value() + " bytes of data, its shape needs " +
                     std::to_string(bytes));
    }
  }
  const std::filesystem::path relative(location);
  const bool beside = !location.empty() && !relative.is_absolute() &&
                      std::find(relative.begin(), relative.end(), "..") == relative.end();
  if (!beside) return invalid("has its data in '" + location + "', which is not beside the model");
  const std::string path = (std::filesystem::path(folder) / relative).string();
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) {
    return Error{ErrorCode::NotFound, "has its data in " + path + ", which is no file here"};
  }
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, none));
  if (none || offset > size || bytes > size - offset) {
    return invalid("has its data in " + path + ", which ends before them");
  }
  std::vector<std::uint8_t> out(static_cast<std::size_t>(bytes));
  std::ifstream file(path, std::ios::binary);
  file.seekg(offset);
  if (!file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(bytes))) {
    return Error{ErrorCode::NotFound, "has its data in " + path + ", which cannot be read"};
  }
  return out;
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

Result<OnnxTensor> read_tensor(const TensorProto& tensor, const std::string& folder) {
  const auto named = [&](const std::string& what) {
    return "tensor '" + tensor.name() + "' " + what;
  };
  auto scalar = scalar_of(tensor.data_type());
  if (!scalar) {
    return Error{scalar.error().code, named("is one of " + scalar.error().message)};
  }
  const bool external = tensor.data_location() == TensorProto::EXTERNAL;
  if (tensor.has_segment() || (external && folder.empty())) {
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
  if (external) {
    auto read = external_bytes(tensor, folder, out.type.bytes());
    if (!read) return Error{read.error().code, named(read.error().message)};
    out.bytes = std::move(*read);
  } else if (tensor.has_raw_data()) {
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
