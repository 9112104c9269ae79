// Permuting constants (weights.h).
#include "host/network/weights.h"

#include <cstring>

#include "host/space/tensor.h"

namespace fettle::network {
namespace {

// Elements of a row-major tensor in another order of its axes.
std::vector<std::uint8_t> permuted(const std::vector<std::uint8_t>& from, const model::Shape& shape,
                                   const model::Order& order, std::size_t element) {
  const std::vector<model::LyingAxis> axes = model::lying(shape, order);
  std::vector<std::uint8_t> out(from.size());
  std::vector<std::int64_t> at(axes.size());
  std::int64_t source = 0;  // in elements
  for (std::size_t to = 0; to < out.size(); to += element) {
    std::memcpy(out.data() + to, from.data() + static_cast<std::size_t>(source) * element, element);
    for (std::size_t d = axes.size(); d-- > 0;) {
      source += axes[d].stride;
      if (++at[d] < axes[d].extent) break;
      source -= axes[d].stride * axes[d].extent;
      at[d] = 0;
    }
  }
  return out;
}

}  // namespace

Result<std::vector<std::uint8_t>> stored_bytes(const model::Graph& graph,
                                               const model::Tensor& tensor) {
  const model::Value& value = graph.values[tensor.value];
  const auto element = static_cast<std::size_t>(ir::DataType{value.type.scalar}.bytes());
  std::vector<std::uint8_t> bytes =
      tensor.order.empty() ? *value.constant
                           : permuted(*value.constant, value.type.shape, tensor.order, element);
  if (tensor.scalar == value.type.scalar) return bytes;
  auto numbers = space::to_doubles(bytes, {value.type.scalar});
  if (!numbers) return std::move(numbers).error();
  return space::to_bytes(*numbers, {tensor.scalar});
}

}  // namespace fettle::network
