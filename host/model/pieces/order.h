// How a value's elements lie in memory: its axes, outermost first, each once. Empty: as they come,
// which is row-major.
#pragma once

#include <cstddef>
#include <vector>

#include "host/model/graph/graph.h"

namespace fettle::model {

using Order = std::vector<std::size_t>;
using Shape = std::vector<std::int64_t>;

inline const Order kChannelsLast{0, 2, 3, 1};  // of an image: batch, channels, height, width

// A value as a piece reads or writes it.
struct Operand {
  ValueId value;
  Order order;
};

// Empty where the elements lie row-major all the same: axes of extent 1 may be anywhere.
Order normal(Order order, const Shape& shape);
// The extents of what lies so.
Shape in_order(const Shape& shape, const Order& order);
// Of what a transposition by `permutation` makes (its axis d is axis permutation[d] of its input):
// how its input lies where it lies in `order`, and the other way about.
Order before_transposition(const Order& order, const Shape& permutation);
Order after_transposition(const Order& order, const Shape& permutation);
// Of a tensor that is broadcast to `rank` axes, of which its own are the last.
Order of_last_axes(const Order& order, std::size_t rank, std::size_t own);

}  // namespace fettle::model
