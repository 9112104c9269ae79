// The CPU sketch of 3x3 convolutions without strides by Winograd's algorithm
// (winograd.h, WinogradStep): matrix products, one for each of u * v, of transformed
// pixels and transformed weights, register tiles of pixel tiles x vectors.
//
//   parallel task (fused: rows and columns of pixel tiles, channels)
//     [transformed pixels of the task, per thread]
//     loop over channel tiles
//       products of the task's pixel tiles, per thread: for each of u * v, register
//       tiles whose sums over the input channels stay in registers
//       loop over pixel tiles: back to m x m pixels in registers, tail, store
//
// and beside it a launch that transforms the weights when the program is loaded,
// one that pads the input unless its tiles test their borders themselves, and one
// that transforms the pixels unless each task does.
#pragma once

#include "host/space/schedule.h"
#include "host/space/search_space.h"
#include "host/space/target.h"

namespace fettle::space {

// Pixels of a tile: F(y,3) along columns, F(x,3) along rows.
struct WinogradTile {
  int y, x;
  double error_growth() const;  // of the sums, see winograd.h
};

// Whether the DAG holds such a convolution, of at least 8 channels on both sides and a
// tile of pixels (fewer have no work to save), followed by nothing that reads it at
// other places. A tile that is not square saves less than the larger square one and
// applies only where that one's weights leave no room in the last cache.
bool winograd_applies(const ComputeDag& dag, const Target& target, WinogradTile tile);

Sketch cpu_winograd_sketch(const ComputeDag& dag, const Target& target, WinogradTile tile);
Result<Schedule> cpu_winograd_schedule(Schedule begun, const Target& target,
                                       const SearchSpace& space, const Configuration& configuration,
                                       WinogradTile pixels_of_tile);

}  // namespace fettle::space
