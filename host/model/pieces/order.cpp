// Orders of axes (order.h).
#include "host/model/pieces/order.h"

#include <algorithm>
#include <numeric>

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

Order normal(Order order, const Shape& shape) {
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
