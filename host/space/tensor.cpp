// Conversion by the scalar's C++ type (tensor.h).
#include "host/space/tensor.h"

#include <cstring>
#include <limits>
#include <type_traits>

#include "schemas/half/half.h"

namespace fettle::space {
namespace {

// A binary16 as C++ has none.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(double value) : bits(half_of(value)) {}
  explicit operator double() const { return float_of_half(bits); }
};

// Calls use(T{}) with the C++ type of the scalar.
template <typename Use>
bool with_type(ir::Scalar scalar, Use use) {
  switch (scalar) {
    case ir::Scalar::Bool:  // a byte that is 0 or 1
      return use(std::uint8_t{}), true;
    case ir::Scalar::Int8:
      return use(std::int8_t{}), true;
    case ir::Scalar::UInt8:
      return use(std::uint8_t{}), true;
    case ir::Scalar::Int16:
      return use(std::int16_t{}), true;
    case ir::Scalar::Int32:
      return use(std::int32_t{}), true;
    case ir::Scalar::Int64:  // exact within 2^53 of 0
      return use(std::int64_t{}), true;
    case ir::Scalar::Float16:
      return use(Half{}), true;
    case ir::Scalar::Float32:
      return use(float{}), true;
    case ir::Scalar::Float64:
      return use(double{}), true;
  }
  return false;
}

// int64 has an end that no double is nearest to but the number behind it.
template <typename T>
T stored(double value) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    if (value >= 0x1p63) return std::numeric_limits<T>::max();
    if (value < -0x1p63) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

Error unsupported(ir::DataType type) {
  return {ErrorCode::Unsupported, "no tensors of type " + to_string(type)};
}

}  // namespace

Result<Tensor> to_doubles(const std::vector<std::uint8_t>& bytes, ir::DataType type) {
  Tensor tensor;
  const bool known = with_type(type.scalar, [&](auto value) {
    tensor.resize(bytes.size() / sizeof value);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      tensor[i] = double(value);
    }
  });
  if (!known) return unsupported(type);
  return tensor;
}

Result<std::vector<std::uint8_t>> to_bytes(const Tensor& tensor, ir::DataType type) {
  std::vector<std::uint8_t> bytes;
  const bool known = with_type(type.scalar, [&](auto value) {
    bytes.resize(tensor.size() * sizeof value);
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      value = stored<decltype(value)>(tensor[i]);
      std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
  });
  if (!known) return unsupported(type);
  return bytes;
}

}  // namespace fettle::space
