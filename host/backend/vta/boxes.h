// Boxes of elements that move between DRAM and an on-chip memory, as LOADs and STOREs of two
// dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "host/backend/vta/product.h"

namespace fettle::vta::host {

// Outputs [first, first + count) of an axis.
struct Range {
  std::int64_t first = 0, count = 1;
};

// A dimension of a box: so many elements of DRAM, and zeros around them on the chip.
struct BoxAxis {
  std::int64_t extent = 1, stride = 0;  // in DRAM
  std::int64_t before = 0, behind = 0;  // zeros
  std::int64_t on_chip = 0;             // from one element to the next; lay_out() says it
  std::int64_t places() const { return before + extent + behind; }
};

// The inputs that outputs of an axis read, and where on the chip: output i (from the range's first
// on) reads the place step * i + dilation * w of `box`.
struct InputWindow {
  BoxAxis box;
  std::int64_t first = 0;  // element of DRAM, relative to the buffer
  std::int64_t step = 1, dilation = 1;
};
InputWindow window_of(const SpatialAxis& axis, const Range& outputs);
std::int64_t places_of(const SpatialAxis& axis, std::int64_t outputs);  // window_of().box.places()

// Gives the axes their places on the chip, row-major with the largest stride in DRAM outermost.
// Returns the elements of the box on the chip.
std::int64_t lay_out(std::span<BoxAxis* const> axes);

// One LOAD or STORE; `dram` is relative to the box's first element.
struct Piece {
  std::int64_t on_chip = 0, dram = 0;
  std::int64_t rows = 1, columns = 1, stride = 1;
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// The fewest pieces that move a laid-out box: what lies side by side in DRAM is one row. Empty: it
// has zeros along more axes than a LOAD's innermost two.
std::vector<Piece> pieces_of(std::span<BoxAxis* const> axes);

}  // namespace fettle::vta::host
