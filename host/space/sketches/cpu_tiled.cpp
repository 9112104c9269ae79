// Knobs and schedule of the CPU sketch (cpu_tiled.h).
#include "host/space/sketches/cpu_tiled.h"

#include <algorithm>

#include "host/space/sketches/copies.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

// The parts of a DAG that the sketch speaks of.
struct Shape {
  const Stage* reduction = nullptr;
  const Stage* pad = nullptr;     // null: none
  const Stage* weight = nullptr;  // the constant
  const Stage* output = nullptr;
  std::vector<std::string> rows;                       // data axes but the last: n, y, x or n
  std::string channel;                                 // the last data axis
  std::int64_t y = 1, x = 1, channels = 1, inner = 1;  // extents; inner: last reduce axis
  DotProduct dot = DotProduct::None;                   // what the sums are made with

  std::int64_t data_channels() const { return reduction->reduce_axes.back().extent; }
  // A copy of the input is read: padded, or made to fit the instruction.
  bool copies() const {
    const bool fits =
        dot == DotProduct::None || (dot == DotProduct::SignedBySigned && data_channels() % 4 == 0);
    return pad || !fits;
  }
  // Padding is zero in the copy, and known to be.
  bool skips_zeros() const {
    const auto* load = pad ? std::get_if<ir::Load>(&pad->body->node) : nullptr;
    return load && load->predicate && dot == DotProduct::None;
  }
};

// Sums of int8 by the CPU's instruction for them: their last axis counts fours then.
Shape shape_of(const ComputeDag& dag, const Target& target) {
  Shape s;
  for (const Stage& stage : dag.stages) {
    if (!stage.reduce_axes.empty()) s.reduction = &stage;
    if (stage.name == "pad") s.pad = &stage;
  }
  s.weight = dag.find(factors_of(dag, *s.reduction)->constant->buffer);
  s.output = &dag.stages.back();
  const auto& axes = s.reduction->axes;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) s.rows.push_back(axes[i].name);
  s.channel = axes.back().name;
  s.channels = axes.back().extent;
  s.x = axes[axes.size() - 2].extent;
  if (axes.size() > 3) s.y = axes[axes.size() - 3].extent;
  s.inner = s.reduction->reduce_axes.back().extent;
  if (s.weight->buffer->type.scalar == ir::Scalar::Int8) s.dot = target.dot_product();
  if (s.dot != DotProduct::None) s.inner = (s.inner + 3) / 4;
  return s;
}

}  // namespace

Sketch cpu_tiled_sketch(const ComputeDag& dag, const Target& target) {
  const Shape s = shape_of(dag, target);
  Sketch sketch{"cpu_tiled", {}};
  auto& knobs = sketch.knobs;
  const Options tiles = register_tiles(s.y, s.x, s.channels, target);
  std::int64_t narrowest = s.channels;
  for (const auto& tile : tiles) narrowest = std::min(narrowest, tile[2] * tile[3]);
  knobs.push_back({"register_tile", tiles});
  // Register tiles per task along each axis; 0: all.
  if (s.rows.size() > 1) knobs.push_back({"task_y", powers_and_all(s.y)});
  knobs.push_back({"task_x", plain({1, 4, 0})});
  knobs.push_back({"task_oc", powers_and_all((s.channels + narrowest - 1) / narrowest)});
  // Which task comes next: 0: along the channels, 1: along the rows.
  knobs.push_back({"task_order", plain({0, 1})});
  // Register tiles of a task, outermost first: 0: channels, y, x; 1: y, x,
  // channels; 2: y, channels, x.
  knobs.push_back({"tile_order", s.rows.size() > 1 ? plain({0, 1, 2}) : plain({0, 1})});
  knobs.push_back({"reduce_inner", divisors(s.inner, 32)});
  // Reduction loops, outermost first: 0: kh, kw, ic, ic inner; 1: ic, kh, kw, ic
  // inner; 2: kh, ic, kw, ic inner.
  if (s.reduction->reduce_axes.size() > 1) knobs.push_back({"reduce_order", plain({0, 1, 2})});
  // Most multiply-adds in the unrolled body.
  knobs.push_back({"unroll", plain({64, 256, 1024})});
  // 0: the input is padded by a launch of its own, 1: by each task for itself.
  if (s.copies()) knobs.push_back({"pad", plain({0, 1})});
  // Rows (1) and columns (2) of the window that lie in the padding for a whole register
  // tile are skipped; 0: computed.
  if (s.skips_zeros() && s.reduction->reduce_axes.size() > 1)
    knobs.push_back({"skip", plain({0, 1, 2}), 0});
  return sketch;
}

Result<Schedule> cpu_tiled_schedule(Schedule begun, const Target& target, const SearchSpace& space,
                                    const Configuration& c) {
  const ComputeDag& dag = begun.dag();
  const Shape s = shape_of(dag, target);
  const bool image = s.rows.size() > 1;
  const std::string reduction_name = s.reduction->name, output = s.output->name,
                    channel = s.channel, weight = s.weight->name;
  const std::vector<std::string> rows = s.rows;
  std::vector<Axis> reduce = s.reduction->reduce_axes;
  const bool padded = s.copies(), skips = s.skips_zeros();
  const bool made_weight = !s.weight->placeholder();  // on loading, from a constant
  const bool stored_apart = !s.output->store_at.empty();
  const DotProduct dot = s.dot;
  const std::int64_t inner_extent = s.inner;
  const bool tail = s.reduction != s.output;
  const std::int64_t extent_y = s.y, extent_x = s.x, channels = s.channels;
  std::vector<std::string> elementwise;
  for (const Stage& stage : dag.stages) {
    if (!stage.placeholder() && stage.reduce_axes.empty() && stage.name != "pad" &&
        stage.role != ir::Role::Output && !is_constant(dag, stage)) {
      elementwise.push_back(stage.name);
    }
  }

  const auto& tile = space.value(c, "register_tile");
  const std::int64_t ry = tile[0], rx = tile[1], vectors = tile[2], lanes = tile[3];
  const auto number = [&](const char* knob) { return space.value(c, knob)[0]; };
  Steps steps(std::move(begun));
  for (const std::string& stage : elementwise) steps(InlineStep{stage});
  if (!tail) steps(CacheWriteStep{reduction_name});
  const std::string sums = tail ? reduction_name : reduction_name + ".local";
  if (dot != DotProduct::None) {
    steps(DotProductStep{sums, dot == DotProduct::UnsignedBySigned});
    steps(PackConstantStep{weight + ".quads", channel, vectors * lanes});
    steps(InlineStep{weight + ".quads"});
  } else {
    steps(PackConstantStep{weight, channel, vectors * lanes});
  }
  if (made_weight) steps(InlineStep{weight});  // into what packs it

  // The output: tasks, register tiles of a task, elements of a register tile.
  const std::int64_t channel_tiles = (channels + vectors * lanes - 1) / (vectors * lanes);
  if (image) {
    steps.split(output, "y", task_extent(number("task_y"), ry, extent_y), "y.task", "y.rest");
    steps.split(output, "y.rest", ry, "y.mid", "y.reg");
  }
  const std::string x = rows.back();
  steps.split(output, x, task_extent(number("task_x"), rx, extent_x), "x.task", "x.rest");
  steps.split(output, "x.rest", rx, "x.mid", "x.reg");
  steps.split(output, channel + ".tile", task_extent(number("task_oc"), 1, channel_tiles),
              "oc.task", "oc.mid");
  steps.split(output, channel + ".in", lanes, "oc.vector", "oc.lane");
  std::vector<std::string> tasks = image ? std::vector<std::string>{"n", "y.task", "x.task"}
                                         : std::vector<std::string>{"x.task"};
  tasks.insert(number("task_order") == 0 ? tasks.end() : tasks.begin(), "oc.task");
  static const std::vector<std::string> mid_orders[] = {
      {"oc.mid", "y.mid", "x.mid"}, {"y.mid", "x.mid", "oc.mid"}, {"y.mid", "oc.mid", "x.mid"}};
  std::vector<std::string> order = tasks, mids;
  for (const std::string& loop : mid_orders[number("tile_order")]) {
    if (image || loop != "y.mid") mids.push_back(loop);
  }
  order.insert(order.end(), mids.begin(), mids.end());
  // Where lanes are stored apart, a vector's stores for neighbouring pixels follow one another,
  // for the back end to transpose.
  std::vector<std::string> elements{"x.reg", "oc.vector", "oc.lane"};
  if (image) elements.insert(elements.begin(), "y.reg");
  if (stored_apart) std::rotate(elements.begin(), elements.end() - 2, elements.end() - 1);
  order.insert(order.end(), elements.begin(), elements.end());
  steps(ReorderStep{output, order});
  steps.parallel(output, tasks);
  if (image) steps.unroll(output, {"y.reg"});
  for (const char* loop : {"x.reg", "oc.vector"}) steps.unroll(output, {loop});
  steps.vectorize(output, "oc.lane");

  // The sums of a register tile.
  steps(ComputeAtStep{sums, output, mids.back(), ir::Scope::Register});
  steps.split(sums, channel + ".in", lanes, "oc.vector", "oc.lane");
  const std::string inner = reduce.back().name;
  steps.split(sums, inner, number("reduce_inner"), inner + ".outer", inner + ".inner");
  std::vector<std::string> reduction{inner + ".outer", inner + ".inner"};
  std::vector<std::int64_t> trips{inner_extent / number("reduce_inner"), number("reduce_inner")};
  if (reduce.size() > 1) {
    const std::int64_t kh = reduce[0].extent, kw = reduce[1].extent, outer = trips[0],
                       in = trips[1];
    switch (number("reduce_order")) {
      case 0:
        reduction = {"kh", "kw", "ic.outer", "ic.inner"};
        trips = {kh, kw, outer, in};
        break;
      case 1:
        reduction = {"ic.outer", "kh", "kw", "ic.inner"};
        trips = {outer, kh, kw, in};
        break;
      default:
        reduction = {"kh", "ic.outer", "kw", "ic.inner"};
        trips = {kh, outer, kw, in};
    }
  }
  std::vector<std::string> sum_order = reduction;
  for (const std::string& row : rows) sum_order.push_back(row);
  for (const std::string& loop :
       {channel + ".tile", std::string("oc.vector"), std::string("oc.lane")}) {
    sum_order.push_back(loop);
  }
  steps(ReorderStep{sums, sum_order});
  for (const std::string& row : rows) steps.unroll(sums, {row});
  steps.unroll(sums, {channel + ".tile"});
  steps.unroll(sums, {"oc.vector"});
  steps.vectorize(sums, "oc.lane");
  std::int64_t body = ry * rx * vectors;
  for (std::size_t i = reduction.size(); i-- > 0;) {
    body *= trips[i];
    if (body > number("unroll")) break;
    // Neighbouring outputs share pixels. Unrolled over the window with several
    // channels inside, each pixel would stay live from one kernel column to the
    // next, in more registers than there are.
    const bool window = reduction[i] == "kh" || reduction[i] == "kw";
    if (window && trips[i] > 1 && number("reduce_inner") > 1) break;
    steps.unroll(sums, {reduction[i]});
  }

  if (skips && reduce.size() > 1) {
    const char* const windows[] = {"kh", "kw"};
    for (std::int64_t i = 0; i < number("skip"); ++i) {
      steps(SkipZerosStep{sums, "pad", windows[i]});
    }
  }

  // Packing the weights, once.
  const std::string packed = weight + (dot != DotProduct::None ? ".quads.packed" : ".packed");
  steps.split(packed, channel + ".in", lanes, "oc.vector", "oc.lane");
  std::vector<std::string> pack_tasks{channel + ".tile"};
  if (reduce.size() > 1) pack_tasks.push_back("kh");
  steps.parallel(packed, pack_tasks);
  steps.vectorize(packed, "oc.lane");

  if (dot == DotProduct::UnsignedBySigned) {
    const std::string offset = weight + ".offset";
    steps.split(offset, channel, lanes, "oc.vector", "oc.lane");
    std::vector<std::string> loops{"oc.vector"};
    for (const Axis& axis : reduce) loops.push_back(axis.name);
    loops.push_back("oc.lane");
    steps(ReorderStep{offset, loops});
    steps.parallel(offset, {"oc.vector"});
    steps.vectorize(offset, "oc.lane");
  }

  if (padded) {
    const Stage pad = *steps.dag().find("pad");
    // Few channels are one vector of just them: images have three.
    const std::int64_t pad_lanes = std::min<std::int64_t>(
        pad.axes.back().extent, target.vector_bits / (8 * pad.buffer->type.bytes()));
    // A task's columns of the input are no fewer than its columns of the output.
    const std::int64_t part = number("pad") == 1 ? task_extent(number("task_x"), rx, extent_x)
                                                 : pad.axes[pad.axes.size() - 2].extent;
    vectorize_copy(steps, pad, pad_lanes, part);
    if (number("pad") == 1) {
      steps(ComputeAtStep{"pad", output, "task", ir::Scope::Global});
    } else {
      steps.parallel("pad",
                     image ? std::vector<std::string>{"n", "y"} : std::vector<std::string>{"n"});
    }
  }
  return steps.finish();
}

}  // namespace fettle::space
