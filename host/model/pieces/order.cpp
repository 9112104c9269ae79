// Orders of axes (order.h).
#include "host/model/pieces/order.h"

#include <algorithm>
#include <numeric>

#include "host/space/operators/packed.h"

namespace fettle::model {
namespace {

Order written_out(Order order, std::size_t rank) {
  if (order.empty()) {
    order.resize(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
  }
  return order;
}

}  // namespace

bool has_blocks(const Order& order, std::size_t rank) {
  return std::any_of(order.begin(), order.end(), [&](std::size_t entry) { return entry >= rank; });
}

Order without_blocks(const Order& order, std::size_t rank) {
  return has_blocks(order, rank) ? kChannelsLast : order;
}

std::vector<LyingAxis> lying(const Shape& shape, const Order& order, const Order& other) {
  const std::size_t rank = shape.size();
  std::vector<std::int64_t> strides(rank, 1);
  for (std::size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  const auto has = [](const Order& list, std::size_t entry) {
    return std::find(list.begin(), list.end(), entry) != list.end();
  };
  std::vector<LyingAxis> out;
  for (const std::size_t entry : written_out(order, rank)) {
    if (entry >= rank) {
      out.push_back({entry, space::kChannelBlock, strides[entry - rank]});
      continue;
    }
    const std::size_t inner = rank + entry;
    if (!has(order, inner) && !has(other, inner)) {
      out.push_back({entry, shape[entry], strides[entry]});
      continue;
    }
    out.push_back(
        {entry, shape[entry] / space::kChannelBlock, strides[entry] * space::kChannelBlock});
    if (!has(order, inner)) out.push_back({inner, space::kChannelBlock, strides[entry]});
  }
  return out;
}

Order normal(Order order, const Shape& shape) {
  if (has_blocks(order, shape.size())) return order;
  std::size_t after = 0;
  for (const std::size_t axis : order) {
    if (shape[axis] == 1) continue;
    if (axis < after) return order;
    after = axis;
  }
  return {};
}

Shape in_order(const Shape& shape, const Order& order) {
  Shape out;
  for (const std::size_t axis : written_out(order, shape.size())) out.push_back(shape[axis]);
  return out;
}

Order before_transposition(const Order& order, const Shape& permutation) {
  Order out;
  for (const std::size_t axis : written_out(order, permutation.size())) {
    out.push_back(static_cast<std::size_t>(permutation[axis]));
  }
  return out;
}

Order after_transposition(const Order& order, const Shape& permutation) {
  Order out;
  for (const std::size_t axis : written_out(order, permutation.size())) {
    const auto at =
        std::find(permutation.begin(), permutation.end(), static_cast<std::int64_t>(axis));
    out.push_back(static_cast<std::size_t>(at - permutation.begin()));
  }
  return out;
}

Order of_last_axes(const Order& order, std::size_t rank, std::size_t own) {
  Order out;
  for (const std::size_t axis : order) {
    if (axis + own >= rank) out.push_back(axis + own - rank);
  }
  return out;
}

}  // namespace fettle::model
