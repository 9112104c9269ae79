// How a value's elements lie in memory: its axes, outermost first, each once. Empty: as they come,
// which is row-major. Of a value with `rank` axes the entry rank + d is the place within a block of
// 16 of axis d, whose own entry then counts blocks; extents are whole blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "host/model/graph/graph.h"

namespace fettle::model {

using Order = std::vector<std::size_t>;
using Shape = std::vector<std::int64_t>;

// Of an image: batch, channels, height, width.
inline const Order kChannelsLast{0, 2, 3, 1};
// Of a window's weights, which are channels written, read, height, width.
inline const Order kAcrossLast{2, 3, 1, 0};
// As accelerators take images and weights (host/space/operators/packed.h).
inline const Order kImageBlocks{0, 1, 2, 3, 5}, kWeightBlocks{0, 1, 2, 3, 4, 5};

// A value as a piece reads or writes it.
struct Operand {
  ValueId value;
  Order order;
};

bool has_blocks(const Order& order, std::size_t rank);
// As code beside an accelerator takes what lies so: an image in blocks with its channels last.
Order without_blocks(const Order& order, std::size_t rank);

// An axis as it lies, or what blocks make of one.
struct LyingAxis {
  std::size_t entry;            // of the order
  std::int64_t extent, stride;  // stride: of the value row-major, in elements
};
// All of them; `other`: also in the blocks that this order has.
std::vector<LyingAxis> lying(const Shape& shape, const Order& order, const Order& other = {});

// Empty where the elements lie row-major all the same: axes of extent 1 may be anywhere.
Order normal(Order order, const Shape& shape);

// These are of orders without blocks.

// The extents of what lies so.
Shape in_order(const Shape& shape, const Order& order);
// Of what a transposition by `permutation` makes (its axis d is axis permutation[d] of its input):
// how its input lies where it lies in `order`, and the other way about.
Order before_transposition(const Order& order, const Shape& permutation);
Order after_transposition(const Order& order, const Shape& permutation);
// Of a tensor that is broadcast to `rank` axes, of which its own are the last.
Order of_last_axes(const Order& order, std::size_t rank, std::size_t own);

}  // namespace fettle::model
