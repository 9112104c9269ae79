// Knobs and schedule of the Winograd sketch of GPUs (gpu_winograd.h).
#include "host/space/sketches/gpu_winograd.h"

#include <algorithm>
#include <limits>

#include "host/space/rewrite.h"
#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/gpu_tiled.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostThreads = 256;  // of a transform's block

const Stage& stage_of(const ComputeDag& dag, const std::string& name) { return *dag.find(name); }

// The padded or reordered copy that tiles are read from; null: they are read from the input.
const Stage* copy_of(const WinogradProduct& w) {
  return computed_source(w.product.dag, stage_of(w.product.dag, w.stages.tile));
}

// Whether transformed pixels and products are buffers that the device holds.
bool scratch_fits(const Alternative& alternative, const GpuTarget& target) {
  double bytes = 0;
  for (const std::string& name : {alternative.winograd->pixels, alternative.winograd->products}) {
    const ir::Buffer& buffer = stage_of(alternative.dag, name).buffer;
    if (buffer->elements() > std::numeric_limits<std::int32_t>::max()) return false;
    bytes += double(buffer->elements()) * buffer->type.bytes();
  }
  return target.memory_bytes <= 0 || bytes <= double(target.memory_bytes);
}

// A step of a transform: computed for what a thread of `consumer` needs in `loop`, unrolled along
// `unrolled`, the first outermost.
void transform_within(Steps& steps, const std::string& stage, const std::string& consumer,
                      const std::string& loop, const std::vector<std::string>& unrolled,
                      std::int64_t lanes) {
  steps(ComputeAtStep{stage, consumer, loop, ir::Scope::Register});
  const std::vector<Axis> axes = steps.dag().find(stage)->axes;
  std::vector<std::string> order;
  for (const Axis& axis : axes) {
    const bool later = std::find(unrolled.begin(), unrolled.end(), axis.name) != unrolled.end();
    if (!later && &axis != &axes.back()) order.push_back(axis.name);
  }
  for (const std::string& axis : unrolled) {
    order.push_back(axis);
    steps.unroll(stage, {axis});
  }
  for (std::string& each : in_vectors(steps, stage, axes.back().name, lanes)) {
    order.push_back(std::move(each));
  }
  steps(ReorderStep{stage, order});
}

}  // namespace

std::optional<WinogradProduct> winograd_product(const Alternative& alternative,
                                                const GpuTarget& target, std::int64_t multiple) {
  auto product = with_matrix_product(alternative.dag, multiple);
  if (!product || !gpu_tiled_fits(*product, target) || !scratch_fits(alternative, target)) {
    return std::nullopt;
  }
  return WinogradProduct{std::move(*product), *alternative.winograd};
}

Sketch gpu_winograd_sketch(const WinogradProduct& w, const GpuTarget& target) {
  Sketch sketch = gpu_tiled_sketch(w.product, target);
  sketch.name = "gpu_winograd_" + std::to_string(w.stages.outputs_y);
  // What both matrices are read from is launches already; the weights' lays them out, but not in
  // panels.
  std::vector<Knob> knobs;
  for (Knob& knob : sketch.knobs) {
    if (knob.name == "packed") std::erase(knob.options, KnobValue{1});
    const bool no_choice = knob.name == "packed" && knob.options.size() == 1;
    if (knob.name != "source" && !no_choice) knobs.push_back(std::move(knob));
  }
  sketch.knobs = std::move(knobs);
  Options threads;
  for (std::int64_t n = std::max(target.warp, 8);
       n <= std::min<std::int64_t>(kMostThreads, target.threads_per_block); n *= 2) {
    threads.push_back({n});
  }
  if (threads.empty()) threads = plain({target.threads_per_block});
  sketch.knobs.push_back({"transform_threads", threads});
  // Channels that a thread transforms at once.
  const Stage& sums = stage_of(w.product.dag, w.stages.pixels);
  Options lanes = lanes_within(std::min(sums.axes.back().extent, w.product.n), target);
  // Narrower ones too, where a tile of vectors is all that a thread's registers hold, or more.
  const std::int64_t tile = (w.stages.outputs_y + 2) * (w.stages.outputs_x + 2);
  while (lanes.back()[0] > 1 && tile * lanes.back()[0] >= target.registers_per_thread) {
    lanes.push_back({lanes.back()[0] / 2});
  }
  if (lanes[0][0] > 1) sketch.knobs.push_back({"transform_lanes", lanes});
  // The copy that tiles are read from is 1: computed by a launch of its own.
  if (copy_of(w)) sketch.knobs.push_back({"source", plain({0, 1})});
  return sketch;
}

Result<Schedule> gpu_winograd_schedule(const WinogradProduct& w, const GpuTarget& target,
                                       const SearchSpace& space, const Configuration& c) {
  const WinogradStages& made = w.stages;
  Elements elements;
  elements.threads = value_or(space, c, "transform_threads", elements.threads);
  elements.last = elements.lanes = value_or(space, c, "transform_lanes", 1);
  const std::int64_t lanes = elements.lanes;
  Steps steps{Schedule(stored_as_packed(w.product, space, c))};
  std::vector<std::string> constants;
  for (const Stage& stage : steps.dag().stages) {
    if (stage.name == made.weight_rows) break;
    if (!stage.placeholder() && is_constant(steps.dag(), stage)) constants.push_back(stage.name);
  }
  for (const std::string& constant : constants) steps(InlineStep{constant});
  const Stage* copy = copy_of(w);
  const std::string source = copy ? copy->name : "", output = steps.dag().stages.back().name;
  const bool launched = value_or(space, c, "source", 0) == 1;
  if (copy && !launched) steps(InlineStep{source});
  const auto axis = [&](const std::string& stage, std::size_t place) {
    return steps.dag().find(stage)->axes[place].name;
  };

  // Weights, once: columns of the window, then both.
  const Elements plain = plain_elements(target);
  std::string at =
      launch_elements(steps, made.weights, plain, {axis(made.weights, 0), axis(made.weights, 1)});
  transform_within(steps, made.weight_rows, made.weights, at,
                   {axis(made.weight_rows, 1), axis(made.weight_rows, 0)},
                   lanes_within(w.product.n, target)[0][0]);
  // Pixels: columns of a tile, then both.
  at = launch_elements(steps, made.pixels, elements, {axis(made.pixels, 0), axis(made.pixels, 1)});
  const std::string column = axis(made.data_rows, 4);
  transform_within(steps, made.data_rows, made.pixels, at, {column, axis(made.data_rows, 3)},
                   lanes);
  transform_within(steps, made.tile, made.data_rows, column,
                   {axis(made.tile, 4), axis(made.tile, 3)}, lanes);
  // Back to pixels: columns of products, then both.
  steps(SplitStep{output, axis(output, 1), made.outputs_y, "ty", "a", Tail::Guard});
  steps(SplitStep{output, axis(output, 2), made.outputs_x, "tx", "b", Tail::Guard});
  at = launch_loops(steps, output, elements, {axis(output, 0), "ty", "tx"}, {"a", "b"});
  transform_within(steps, made.sum_rows, output, at,
                   {axis(made.sum_rows, 4), axis(made.sum_rows, 3)}, lanes);

  std::vector<std::string> placed = place_product(steps, w.product, space, c);
  for (const std::string& stage : {made.weights, made.weight_rows, made.pixels, made.data_rows,
                                   made.tile, made.sum_rows, output}) {
    placed.push_back(stage);
  }
  launch_others(steps, placed, target, plain);
  return steps.finish();
}

}  // namespace fettle::space
