// Knobs and schedule of the spatial GPU sketch (gpu_spatial.h).
#include "host/space/sketches/gpu_spatial.h"

#include <algorithm>

#include "host/space/sketches/gpu_steps.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostThreads = 512;

Options powers(std::int64_t from, std::int64_t most) {
  Options out;
  for (std::int64_t n = from; n == from || n <= most; n *= 2) out.push_back({n});
  return out;
}

bool reduces(const ComputeDag& dag) {
  return std::any_of(dag.stages.begin(), dag.stages.end(),
                     [](const Stage& stage) { return !stage.reduce_axes.empty(); });
}

}  // namespace

Sketch gpu_spatial_sketch(const ComputeDag& dag, const GpuTarget& target) {
  const auto& axes = dag.stages.back().axes;
  Sketch sketch{"gpu_spatial", {}};
  sketch.knobs.push_back(
      {"threads",
       powers(target.warp, std::min<std::int64_t>(kMostThreads, target.threads_per_block))});
  // Neighbours of one thread along the last axis, of which it takes vectors where the device has
  // some, and along the one before it.
  const std::int64_t narrow = lanes_within(axes.back().extent, target).back()[0];
  sketch.knobs.push_back(
      {"elements", powers(narrow, std::min<std::int64_t>(8 * narrow, axes.back().extent))});
  if (axes.size() > 1) {
    sketch.knobs.push_back(
        {"rows", powers(1, std::min<std::int64_t>(8, axes[axes.size() - 2].extent))});
  }
  // Most operations in a reduction's unrolled body.
  if (reduces(dag)) sketch.knobs.push_back({"unroll", plain({16, 64, 256})});
  return sketch;
}

Result<Schedule> gpu_spatial_schedule(const ComputeDag& dag, const GpuTarget& target,
                                      const SearchSpace& space, const Configuration& c) {
  const auto number = [&](const char* knob, std::int64_t fallback) {
    return value_or(space, c, knob, fallback);
  };
  Elements elements{number("threads", target.warp), number("elements", 1), number("rows", 1)};
  elements.lanes = std::min(elements.last, largest_power(target.vector_width));
  const std::int64_t unroll = number("unroll", 16);
  Steps steps{Schedule(dag)};
  inline_elementwise(steps, {});
  std::vector<std::string> placed;
  if (const Stage* found = reduction_in_output(steps.dag())) {
    const std::string reduction = found->name, output = steps.dag().stages.back().name;
    const std::string at = launch_elements(steps, output, elements);
    steps(ComputeAtStep{reduction, output, at, ir::Scope::Register});
    reduce_in_registers(steps, reduction, elements, unroll);
    placed = {reduction, output};
  }
  launch_others(steps, placed, target, elements, unroll);
  return steps.finish();
}

}  // namespace fettle::space
