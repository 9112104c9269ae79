// What sketches of GPUs have in common: elementwise stages inlined, copies made by all threads of
// a block, launches of one thread per few elements.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/space/gpu_target.h"
#include "host/space/search_space.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

// The first number of the knob's value; `fallback` where the sketch has no such knob.
std::int64_t value_or(const SearchSpace& space, const Configuration& configuration,
                      const char* knob, std::int64_t fallback);

// Inlines every elementwise stage that is neither an output nor made of constants only, but `kept`.
void inline_elementwise(Steps& steps, const std::vector<std::string>& kept);

// The loops, which are neighbours in this order, go over x * y threads, the last one fastest.
void load_together(Steps& steps, const std::string& stage, const std::vector<std::string>& loops,
                   std::int64_t x, std::int64_t y);

// Of products of matrices: each element of a matrix that is read serves at most so many others.
inline constexpr std::int64_t kFewRows = 4;

// Whether that many results, a thread for each, are fewer threads than the device holds.
bool leaves_threads_idle(std::int64_t results, const GpuTarget& target);

// The reduction that the output reads at its own axes alone; null: there is none.
const Stage* reduction_in_output(const ComputeDag& dag);

// How elements of a launch lie over threads.
struct Elements {
  std::int64_t threads = 128;  // of a block
  std::int64_t last = 1;       // elements of a thread along the last axis
  std::int64_t rows = 1;       // and along the one before it
  std::int64_t lanes = 1;      // of those along the last axis, so many at once; a power of two
};

// Of the device's vectors, those that an axis can hold: the widest first, and half of that.
Options lanes_within(std::int64_t extent, const GpuTarget& target);

// Of a launch that has no knobs of its own.
Elements plain_elements(const GpuTarget& target);

// A stage as a launch: each thread computes few neighbours, and all of the axes `whole`, unrolled.
// Returns the loop that stages are computed in that a thread needs: it stands inside of what
// guards the last block.
std::string launch_elements(Steps& steps, const std::string& stage, const Elements& elements,
                            const std::vector<std::string>& whole = {});

// The same of a stage whose loops but for its last axis are `shared`, over all threads, and
// `whole`, outermost first.
std::string launch_loops(Steps& steps, const std::string& stage, const Elements& elements,
                         std::vector<std::string> shared, std::vector<std::string> whole);

// Reductions and stages of constants that no step has placed yet, each as a launch: a thread
// reduces few elements one after the other.
void launch_others(Steps& steps, const std::vector<std::string>& placed, const GpuTarget& target,
                   const Elements& elements, std::int64_t unroll = 64);

// A reduction's loops inside a thread: its data loops innermost and unrolled, the last one by
// vectors, and reduction loops from the innermost on as far as `most` operations go.
void reduce_in_registers(Steps& steps, const std::string& stage, const Elements& elements,
                         std::int64_t most);

// `loop`, a stage's innermost, by vectors of `lanes` that divide it, unrolled. Returns the loops
// that it consists of now.
std::vector<std::string> in_vectors(Steps& steps, const std::string& stage, const std::string& loop,
                                    std::int64_t lanes);

}  // namespace fettle::space
