// A tensor of a network, files of its numbers, and numbers of its bytes.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime/tensor_files/npy.h"
#include "schemas/network_generated.h"

namespace fettle::test {

inline wire::NetworkTensorT tensor_of(wire::ScalarType type, std::vector<std::int64_t> shape) {
  wire::NetworkTensorT tensor;
  tensor.name = "image";
  tensor.dtype = type;
  tensor.shape = std::move(shape);
  return tensor;
}

template <typename T>
std::string npy_of(wire::ScalarType type, std::vector<std::int64_t> shape, std::vector<T> values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  return npy_file(type, shape, {bytes, values.size() * sizeof(T)});
}

inline std::vector<float> floats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace fettle::test
