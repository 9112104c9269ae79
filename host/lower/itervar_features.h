// Itervar features: a program loop by loop, in columns that mean something within one task only,
// as AutoTVM's features of that name. One lowering a configuration, no back end, no compiler.
#pragma once

#include <string>
#include <vector>

#include "host/ir/module.h"
#include "host/space/task_space.h"
#include "schemas/wire/result.h"

namespace fettle::lower {

// The first column is the sketch. Then kItervarLoops loops have kLoopColumns columns each, in the
// order that they stand in the timed launches, the last launch first: it makes the output, and has
// as many loops whatever the others pack or pad before it. Read right behind build_loops and
// flatten_storage, before loops are split at borders or unrolled, so that configurations of one
// sketch have the same loops; what differs is NaN in the columns of loops that there are not, and
// loops beyond the last place are left out.
inline constexpr std::size_t kItervarLoops = 48;
// Slots for buffers, of each loop: the first stages of the DAG, whose order never changes. A packed
// or transformed copy ("weight.packed") counts as its stage; register tiles are no buffers.
inline constexpr std::size_t kItervarBuffers = 8;
// Of a buffer, each log2(1 + x): stride (elements between iterations), span (elements between the
// first and the last iteration; AutoTVM has the index's modulus there), count (elements that the
// loop and those inside it touch), reuse (their iterations for each element), and count and reuse
// of the loop and those around it. Of several accesses the one with the larger count.
inline constexpr std::size_t kBufferColumns = 6;
// Length, nest level, products of lengths down to the loop and from it inwards (all but the level
// as log2), how it is run (1 in one of six columns: serial, unrolled, vectorized, parallel, blocks,
// threads), operations inside, then the buffers.
inline constexpr std::size_t kLoopColumns = 11 + kItervarBuffers * kBufferColumns;

// As long whatever the program. `stages`: the names of the DAG's stages.
std::vector<float> itervar_features(const ir::Module& loops, const std::vector<std::string>& stages,
                                    std::uint32_t sketch);

// BuildError: the configuration makes no program.
Result<std::vector<float>> itervar_features_of(const space::TaskSpace& task,
                                               const space::Configuration& configuration,
                                               int threads);

}  // namespace fettle::lower
