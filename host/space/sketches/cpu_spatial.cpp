// Knobs and schedule of the spatial CPU sketch (cpu_spatial.h).
#include "host/space/sketches/cpu_spatial.h"

#include <algorithm>

#include "host/ir/mutator.h"
#include "host/space/axis_roles.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

const Stage* reduction_of(const ComputeDag& dag) {
  for (const Stage& stage : dag.stages) {
    if (!stage.reduce_axes.empty()) return &stage;
  }
  return nullptr;
}

// The copy that the reduction reads in place of an input; null: none.
const Stage* pad_of(const ComputeDag& dag) {
  const Stage* reduction = reduction_of(dag);
  return reduction ? copy_read_by(dag, *reduction) : nullptr;
}

// The output's axes by what becomes of them: the last one is vectorised, the two
// before it are tiled too.
struct Nest {
  std::vector<std::string> outer;  // axes before y
  std::string y, x, channel;       // empty: there is none
  std::int64_t y_extent = 1, x_extent = 1, channels = 1;

  explicit Nest(const Stage& output) {
    const auto& axes = output.axes;
    const std::size_t rank = axes.size();
    channel = axes[rank - 1].name, channels = axes[rank - 1].extent;
    if (rank > 1) x = axes[rank - 2].name, x_extent = axes[rank - 2].extent;
    if (rank > 2) y = axes[rank - 3].name, y_extent = axes[rank - 3].extent;
    for (std::size_t i = 0; i + 3 < rank; ++i) outer.push_back(axes[i].name);
  }
};

// The stage that is tiled: a reduction that is stored elsewhere than at its axes is a
// launch of its own, before the output's; else the output.
const Stage& tiled_stage(const ComputeDag& dag) {
  const Stage* reduction = reduction_of(dag);
  return reduction && !reduction->store_at.empty() ? *reduction : dag.stages.back();
}

// A stage that reads constants only is computed once, when the program is loaded.
bool is_prepared(const ComputeDag& dag, const Stage& stage) {
  bool constant = true, reads = false;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load) return;
    reads = true;
    constant &= dag.find(load->buffer)->role == ir::Role::Constant;
  });
  return reads && constant;
}

// The constant that each vector of the output's last axis reads a part of its own of,
// whole: worth packing, so that this part is contiguous. In place its rows lie the axis
// apart, often a power of two, which puts them all into one set of the first cache.
// Null: there is none.
const Stage* packable_constant(const ComputeDag& dag) {
  const Stage* reduction = reduction_of(dag);
  if (!reduction || !reduction->store_at.empty()) return nullptr;
  const Axis& channel = reduction->axes.back();
  const Stage& output = dag.stages.back();
  if (output.axes.size() != reduction->axes.size()) return nullptr;
  const Stage* found = nullptr;
  ir::walk(reduction->body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    const Stage* constant = load ? dag.find(load->buffer) : nullptr;
    if (!constant || constant->role != ir::Role::Constant) return;
    bool fits = constant->axes.size() > 1 && constant->axes.back().extent == channel.extent;
    for (std::size_t d = 0; fits && d < load->indices.size(); ++d) {
      const auto* ref = std::get_if<ir::VarRef>(&load->indices[d]->node);
      const auto reduced = [&](const Axis& axis) { return ref && axis.var == ref->var; };
      fits = d + 1 == load->indices.size() ? ref && ref->var == channel.var
                                           : std::any_of(reduction->reduce_axes.begin(),
                                                         reduction->reduce_axes.end(), reduced);
    }
    if (fits) found = constant;
  });
  return found;
}

// What the tile is computed in: float16 is float32 in registers.
int element_bits(const ComputeDag& dag) {
  const Stage* reduction = reduction_of(dag);
  const ir::DataType type = (reduction ? *reduction : dag.stages.back()).buffer->type;
  return 8 * (type.scalar == ir::Scalar::Float16 ? ir::kFloat32 : type).bytes();
}

}  // namespace

bool cpu_spatial_fits(const ComputeDag& dag) {
  const Stage& output = dag.stages.back();
  int reductions = 0;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    ++reductions;
    if (!stage.store_at.empty()) continue;
    if (stage.axes.size() != output.axes.size()) return false;
    for (std::size_t d = 0; d < stage.axes.size(); ++d) {
      if (stage.axes[d].extent != output.axes[d].extent) return false;
    }
  }
  return reductions <= 1;
}

Sketch cpu_spatial_sketch(const ComputeDag& dag, const CpuTarget& target) {
  const Nest nest(tiled_stage(dag));
  Sketch sketch{"cpu_spatial", {}};
  auto& knobs = sketch.knobs;
  const Options tiles =
      spatial_tiles(nest.y_extent, nest.x_extent, nest.channels, element_bits(dag), target);
  knobs.push_back({"register_tile", tiles});
  // Register tiles per task along each axis; 0: all.
  if (!nest.y.empty()) knobs.push_back({"task_y", powers_and_all(nest.y_extent)});
  if (!nest.x.empty()) knobs.push_back({"task_x", {{1}, {4}, {0}}});
  const std::int64_t narrowest = tiles.front()[2] * tiles.front()[3];
  knobs.push_back({"task_c", powers_and_all((nest.channels + narrowest - 1) / narrowest)});
  // Register tiles of a task, outermost first: 0: y, x, channels; 1: channels, y, x;
  // 2: y, channels, x.
  if (!nest.x.empty()) knobs.push_back({"tile_order", {{0}, {1}, {2}}});
  if (const Stage* reduction = reduction_of(dag)) {
    const auto& axes = reduction->reduce_axes;
    // Iterations of the innermost reduction loop; the rest of it is a loop around it.
    knobs.push_back({"reduce_inner", divisors(axes.back().extent, 32)});
    // 0: reduction loops as listed; 1: the last one outermost but for its inner part.
    if (axes.size() > 1) knobs.push_back({"reduce_order", {{0}, {1}}});
    // Most operations in the unrolled body.
    knobs.push_back({"unroll", {{64}, {256}, {1024}}});
  }
  // 0: the input is padded by a launch of its own, 1: by each task for itself, 2: not
  // copied.
  if (pad_of(dag)) knobs.push_back({"pad", {{0}, {1}, {2}}});
  return sketch;
}

namespace {

// Splits the output's loops into tasks, register tiles of a task, and their elements.
// packed: the last axis has been cut into register tiles already. Returns the innermost
// loop over register tiles.
std::string tile_output(Steps& steps, const std::string& output, const Nest& nest,
                        const std::vector<std::int64_t>& tile,
                        const std::vector<std::int64_t>& task_tiles, std::int64_t order,
                        bool packed) {
  struct Dimension {
    std::string axis;
    std::int64_t extent, size, tiles;
  };
  const Dimension all[] = {{nest.y, nest.y_extent, tile[0], task_tiles[0]},
                           {nest.x, nest.x_extent, tile[1], task_tiles[1]},
                           {nest.channel, nest.channels, tile[2] * tile[3], task_tiles[2]}};
  std::vector<std::string> tasks = nest.outer, mids, elements;
  for (const Dimension& d : all) {
    if (d.axis.empty()) continue;
    tasks.push_back(d.axis + ".task");
    mids.push_back(d.axis + ".mid");
    if (packed && d.axis == nest.channel) {
      steps.split(output, d.axis + ".tile", task_extent(d.tiles, 1, d.extent / d.size),
                  tasks.back(), mids.back());
      elements.push_back(d.axis + ".in");
      continue;
    }
    elements.push_back(d.axis + ".reg");
    steps.split(output, d.axis, task_extent(d.tiles, d.size, d.extent), tasks.back(),
                d.axis + ".rest");
    steps.split(output, d.axis + ".rest", d.size, mids.back(), elements.back());
  }
  const std::string lanes = elements.back();
  steps.split(output, lanes, tile[3], nest.channel + ".vector", nest.channel + ".lane");
  elements.back() = nest.channel + ".vector";
  elements.push_back(nest.channel + ".lane");
  if (order == 1) std::rotate(mids.begin(), mids.end() - 1, mids.end());
  if (order == 2 && mids.size() > 1) std::swap(mids[mids.size() - 1], mids[mids.size() - 2]);
  std::vector<std::string> loops = tasks;
  loops.insert(loops.end(), mids.begin(), mids.end());
  loops.insert(loops.end(), elements.begin(), elements.end());
  steps(ReorderStep{output, loops});
  steps.parallel(output, tasks);
  for (std::size_t i = 0; i + 1 < elements.size(); ++i) steps.unroll(output, {elements[i]});
  steps.vectorize(output, elements.back());
  return mids.back();
}

// The reduction of one register tile, inside loop `at` of the output. operations: of
// the tile per reduction step.
void tile_reduction(Steps& steps, const std::string& name, const std::string& output,
                    const std::string& at, std::int64_t lanes, std::int64_t inner,
                    bool last_outermost, std::int64_t operations, std::int64_t most) {
  const Stage stage = *steps.dag().find(name);
  steps(ComputeAtStep{name, output, at, ir::Scope::Register});
  // "<channel>.in" where a constant is packed.
  const std::string channel = stage.axes.back().name, last = stage.reduce_axes.back().name;
  steps.split(name, channel, lanes, channel + ".vector", channel + ".lane");
  steps.split(name, last, inner, last + ".outer", last + ".inner");
  std::vector<std::pair<std::string, std::int64_t>> reduce;
  for (std::size_t i = 0; i + 1 < stage.reduce_axes.size(); ++i) {
    reduce.emplace_back(stage.reduce_axes[i].name, stage.reduce_axes[i].extent);
  }
  reduce.emplace(last_outermost ? reduce.begin() : reduce.end(), last + ".outer",
                 stage.reduce_axes.back().extent / inner);
  reduce.emplace_back(last + ".inner", inner);
  std::vector<std::string> loops;
  for (const auto& [loop, trips] : reduce) loops.push_back(loop);
  for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) {
    loops.push_back(stage.axes[d].name);
    steps.unroll(name, {stage.axes[d].name});
  }
  loops.push_back(channel + ".vector");
  loops.push_back(channel + ".lane");
  steps(ReorderStep{name, loops});
  steps.unroll(name, {channel + ".vector"});
  steps.vectorize(name, channel + ".lane");
  for (std::size_t i = reduce.size(); i-- > 0;) {
    operations *= reduce[i].second;
    if (operations > most) break;
    steps.unroll(name, {reduce[i].first});
  }
}

// Rows and columns of the window that lie in the padding for a whole register tile are
// left out, where `stage` is a sum of products with `pad`'s values.
void skip_padding(Steps& steps, const std::string& name, const std::string& pad) {
  const Stage& stage = *steps.dag().find(name);
  if (!factor_from(stage, steps.dag().find(pad)->buffer)) return;
  const auto axes = stage.reduce_axes;
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) steps(SkipZerosStep{name, pad, axes[i].name});
  for (const char* part : {".outer", ".inner"}) {
    steps(SkipZerosStep{name, pad, axes.back().name + part});
  }
}

// A copy, by vectors along its last axis.
void vectorize_copy(Steps& steps, const Stage& copy, std::int64_t lanes) {
  const std::string& last = copy.axes.back().name;
  while (lanes > copy.axes.back().extent) lanes /= 2;
  steps.split(copy.name, last, lanes, last + ".vector", last + ".lane");
  steps.vectorize(copy.name, last + ".lane");
}

// A copy by a launch of its own, parallel over its outer axes.
void launch_copy(Steps& steps, const Stage& copy, std::int64_t lanes) {
  vectorize_copy(steps, copy, lanes);
  std::vector<std::string> rows;
  for (std::size_t d = 0; d + 2 < copy.axes.size(); ++d) rows.push_back(copy.axes[d].name);
  if (rows.empty()) {
    rows.push_back(copy.axes.size() > 1 ? copy.axes.front().name
                                        : copy.axes.back().name + ".vector");
  }
  steps.parallel(copy.name, rows);
}

}  // namespace

Result<Schedule> cpu_spatial_schedule(Schedule begun, const CpuTarget& target,
                                      const SearchSpace& space, const Configuration& c) {
  const ComputeDag& dag = begun.dag();
  const Nest nest(tiled_stage(dag));
  const std::string output = dag.stages.back().name, tiled = tiled_stage(dag).name;
  const auto number = [&](const char* knob) { return space.value(c, knob)[0]; };
  const auto& tile = space.value(c, "register_tile");
  const std::int64_t copy_lanes = std::max<std::int64_t>(1, target.vector_bits / element_bits(dag));
  std::vector<std::string> inlined, prepared;
  std::string pad, reduction, image;  // image: a pad that is not copied
  const Stage* copy = pad_of(dag);
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) continue;
    if (!stage.reduce_axes.empty()) {
      reduction = stage.name;
    } else if (&stage == copy) {
      (number("pad") == 2 ? image : pad) = stage.name;
    } else if (stage.role != ir::Role::Output) {
      (is_prepared(dag, stage) ? prepared : inlined).push_back(stage.name);
    }
  }

  const Stage* packable = packable_constant(dag);
  const std::string constant = packable ? packable->name : "",
                    constant_axis = packable ? packable->axes.back().name : "";

  Steps steps(std::move(begun));
  for (const std::string& stage : inlined) steps(InlineStep{stage});
  if (reduction == tiled) {
    steps(CacheWriteStep{reduction});
    reduction += ".local";
  }
  // Register tiles that overlap have no packed part of their own.
  const bool packed = !constant.empty() && nest.channels % (tile[2] * tile[3]) == 0;
  if (packed) {
    steps(PackConstantStep{constant, constant_axis, tile[2] * tile[3]});
    prepared.push_back(constant + ".packed");
  }
  const std::vector<std::int64_t> task_tiles{nest.y.empty() ? 1 : number("task_y"),
                                             nest.x.empty() ? 1 : number("task_x"),
                                             number("task_c")};
  const std::string at = tile_output(steps, tiled, nest, tile, task_tiles,
                                     nest.x.empty() ? 0 : number("tile_order"), packed);
  if (!reduction.empty()) {
    const bool several = steps.dag().find(reduction)->reduce_axes.size() > 1;
    tile_reduction(steps, reduction, tiled, at, tile[3], number("reduce_inner"),
                   several && number("reduce_order") == 1, tile[0] * tile[1] * tile[2],
                   number("unroll"));
    if (!image.empty()) skip_padding(steps, reduction, image);
  }
  if (!image.empty()) steps(InlineStep{image});
  if (tiled != output) prepared.push_back(output);
  for (const std::string& name : prepared) {
    launch_copy(steps, Stage(*steps.dag().find(name)), copy_lanes);
  }
  if (!pad.empty()) {
    const Stage stage = *steps.dag().find(pad);
    if (number("pad") == 1) {
      // A task's part of it is at least one vector of the output wide.
      vectorize_copy(steps, stage, std::min(tile[3], copy_lanes));
      steps(ComputeAtStep{pad, tiled, "task", ir::Scope::Global});
    } else {
      launch_copy(steps, stage, copy_lanes);
    }
  }
  return steps.finish();
}

}  // namespace fettle::space
