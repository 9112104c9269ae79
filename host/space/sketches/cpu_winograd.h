// The CPU sketch of 3x3 convolutions without strides by Winograd's algorithm
// (winograd.h, WinogradStep): n * n = (outputs + 2)^2 matrix products of transformed
// pixels and transformed weights, register tiles of pixel tiles x vectors.
//
//   parallel task (fused: rows and columns of pixel tiles, channels)
//     [transformed pixels of the task, per thread]
//     loop over channel tiles
//       products of the task's pixel tiles, per thread: for each of n * n, register
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

// Whether the DAG holds such a convolution, of at least 8 channels on both sides and
// outputs x outputs pixels (fewer have no work to save), followed by nothing that
// reads it at other places.
bool winograd_applies(const ComputeDag& dag, int outputs);

Sketch cpu_winograd_sketch(const ComputeDag& dag, const Target& target, int outputs);
Result<Schedule> cpu_winograd_schedule(ComputeDag dag, const Target& target,
                                       const SearchSpace& space, const Configuration& configuration,
                                       int outputs);

}  // namespace fettle::space
