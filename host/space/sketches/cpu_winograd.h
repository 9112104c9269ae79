// The CPU sketch of convolutions by Winograd's algorithm (winograd_convolution.h): matrix
// products, one for each of u * v, of transformed pixels and transformed weights, register
// tiles of pixel tiles x vectors.
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

#include "host/space/algorithms/alternatives.h"
#include "host/space/cpu_target.h"
#include "host/space/schedule.h"
#include "host/space/search_space.h"

namespace fettle::space {

// Of an alternative of that algorithm.
Sketch cpu_winograd_sketch(const Alternative& alternative, const CpuTarget& target);
Result<Schedule> cpu_winograd_schedule(const Alternative& alternative, const CpuTarget& target,
                                       const SearchSpace& space,
                                       const Configuration& configuration);

}  // namespace fettle::space
