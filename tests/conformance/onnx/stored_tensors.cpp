// Reading and comparing (stored_tensors.h).
#include "tests/conformance/onnx/stored_tensors.h"

#include <cmath>

#include "host/space/tensor.h"

namespace fettle::model {

std::optional<OnnxTensor> stored_tensor(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  onnx::TensorProto proto;
  if (parse_file(path, proto)) {
    if (auto read = read_tensor(proto)) return std::move(*read);
  }
  return OnnxTensor{};
}

std::string compared(const TensorType& type, const std::vector<std::uint8_t>& bytes,
                     const OnnxTensor& expected) {
  if (type != expected.type) {
    return "makes " + to_string(type) + ", expected " + to_string(expected.type);
  }
  const auto got = space::to_doubles(bytes, {type.scalar, 1});
  const auto want = space::to_doubles(expected.bytes, {type.scalar, 1});
  if (!got || !want) return "cannot be compared";
  for (std::size_t i = 0; i < want->size(); ++i) {
    const double a = (*got)[i], b = (*want)[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a != b && !(std::fabs(a - b) <= 1e-7 + 1e-3 * std::fabs(b))) {
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " +
             std::to_string(b);
    }
  }
  return "";
}

}  // namespace fettle::model
