// Knobs and schedule of the Winograd sketch (cpu_winograd.h).
#include "host/space/sketches/cpu_winograd.h"

#include <cmath>

#include "host/space/sketches/copies.h"
#include "host/space/sketches/cpu_tiled.h"
#include "host/space/sketches/steps.h"
#include "host/space/window.h"
#include "host/space/winograd.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kFewestChannels = 8;

struct Shape {
  const Stage* reduction = nullptr;
  Window window;
  std::int64_t rows, columns;  // of tiles
};

std::optional<Shape> shape_of(const ComputeDag& dag, WinogradTile tile) {
  Shape s;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (s.reduction) return std::nullopt;
    s.reduction = &stage;
  }
  if (!s.reduction) return std::nullopt;
  const auto window = winograd_window(dag, *s.reduction);
  if (!window) return std::nullopt;
  s.window = *window;
  s.rows = (s.window.y.extent + tile.y - 1) / tile.y;
  s.columns = (s.window.x.extent + tile.x - 1) / tile.x;
  return s;
}

}  // namespace

double WinogradTile::error_growth() const {
  return std::sqrt(winograd(y).error_growth * winograd(x).error_growth);
}

bool winograd_applies(const ComputeDag& dag, const Target& target, WinogradTile tile) {
  const auto s = shape_of(dag, tile);
  if (!s || dag.stages.back().axes.size() != 4) return false;
  const Window& w = s->window;
  if (tile.y != tile.x) {
    const std::int64_t larger = std::max(winograd(tile.y).inputs, winograd(tile.x).inputs);
    const std::int64_t bytes = larger * larger * w.in.extent * w.out.extent * 4;
    std::int64_t cache = 0;
    for (const CacheLevel& level : target.caches) cache = std::max(cache, level.bytes);
    if (bytes <= cache) return false;
  }
  return w.y.extent >= tile.y && w.x.extent >= tile.x && w.in.extent >= kFewestChannels &&
         w.out.extent >= kFewestChannels;
}

Sketch cpu_winograd_sketch(const ComputeDag& dag, const Target& target, WinogradTile tile) {
  const Shape s = *shape_of(dag, tile);
  const Window& w = s.window;
  std::string name = "cpu_winograd_" + std::to_string(tile.y);
  if (tile.y != tile.x) name += "x" + std::to_string(tile.x);
  Sketch sketch{std::move(name), {}};
  auto& knobs = sketch.knobs;
  const Options tiles = register_tiles(s.rows, s.columns, w.out.extent, target);
  std::int64_t narrowest = w.out.extent;
  for (const auto& t : tiles) narrowest = std::min(narrowest, t[2] * t[3]);
  knobs.push_back({"register_tile", tiles});
  // Register tiles per task along each axis; 0: all.
  knobs.push_back({"task_y", powers_and_all(s.rows)});
  knobs.push_back({"task_x", plain({1, 2, 0})});
  knobs.push_back({"task_oc", powers_and_all((w.out.extent + narrowest - 1) / narrowest)});
  // 0: the pixels are transformed by a launch of its own, 1: by each task for itself.
  knobs.push_back({"transform", plain({0, 1})});
  // Products are kept for 0: all channels of a task, 1: one tile of channels.
  knobs.push_back({"products", plain({0, 1})});
  // Register tiles of the products, outermost first: 0: channels, rows, columns; 1:
  // rows, columns, channels.
  knobs.push_back({"tile_order", plain({0, 1})});
  knobs.push_back({"reduce_inner", divisors(w.in.extent, 16)});
  // 0: the input is padded by a launch of its own, 1: where tiles are read.
  if (dag.find("pad")) knobs.push_back({"pad", plain({0, 1})});
  return sketch;
}

Result<Schedule> cpu_winograd_schedule(Schedule begun, const Target&, const SearchSpace& space,
                                       const Configuration& c, WinogradTile pixels_of_tile) {
  const ComputeDag& dag = begun.dag();
  const Shape s = *shape_of(dag, pixels_of_tile);
  const Window w = s.window;
  const std::string channel = w.out.name, in = w.in.name, output = dag.stages.back().name,
                    n = s.reduction->axes[0].name;
  const std::string weight = dag.find(std::get<ir::Load>(w.weight->node).buffer)->name;
  const bool padded = dag.find("pad") != nullptr;
  const bool made_weight = !dag.find(weight)->placeholder();  // on loading, from a constant
  const bool tail = s.reduction->name != output;
  const std::string sums = tail ? s.reduction->name : output + ".local";
  std::vector<std::string> elementwise;
  for (const Stage& stage : dag.stages) {
    if (!stage.placeholder() && stage.reduce_axes.empty() && stage.name != "pad" &&
        stage.role != ir::Role::Output && !is_constant(dag, stage)) {
      elementwise.push_back(stage.name);
    }
  }
  const auto number = [&](const char* knob) { return space.value(c, knob)[0]; };
  const auto& tile = space.value(c, "register_tile");
  const std::int64_t ry = tile[0], rx = tile[1], width = tile[2] * tile[3], lanes = tile[3];

  Steps steps(std::move(begun));
  for (const std::string& stage : elementwise) steps(InlineStep{stage});
  if (!tail) steps(CacheWriteStep{output});
  steps(WinogradStep{sums, pixels_of_tile.y, pixels_of_tile.x, width});
  if (made_weight) steps(InlineStep{weight});
  if (padded && number("pad") == 1) steps(InlineStep{"pad"});
  steps(CacheWriteStep{sums});  // products in memory, their sums in registers
  const std::string registers = sums + ".local", oc_tile = channel + ".tile",
                    oc_in = channel + ".in";

  // The output: tasks, tiles of channels, tiles of pixels, pixels of a tile.
  const std::int64_t tiles = (w.out.extent + width - 1) / width;
  steps.split(output, "ty", task_extent(number("task_y"), ry, s.rows), "y.task", "y.mid");
  steps.split(output, "tx", task_extent(number("task_x"), rx, s.columns), "x.task", "x.mid");
  steps.split(output, oc_tile, task_extent(number("task_oc"), 1, tiles), "oc.task", "oc.mid");
  steps.split(output, oc_in, lanes, "oc.vector", "oc.lane");
  const std::vector<std::string> tasks{n, "y.task", "x.task", "oc.task"};
  steps(ReorderStep{output,
                    {n, "y.task", "x.task", "oc.task", "oc.mid", "y.mid", "x.mid", "oc.vector", "a",
                     "b", "oc.lane"}});
  steps.parallel(output, tasks);
  steps.unroll(output, {"a", "b"});
  steps.vectorize(output, "oc.lane");
  const std::string rows = sums + ".rows";
  steps(ComputeAtStep{rows, output, "oc.vector", ir::Scope::Register});
  steps(ReorderStep{rows, {"v", "a"}});
  steps.unroll(rows, {"v", "a"});
  steps.vectorize(rows, oc_in);

  // The products.
  steps(
      ComputeAtStep{sums, output, number("products") == 0 ? "task" : "oc.mid", ir::Scope::Global});
  steps.split(sums, "ty", ry, "y.mid", "y.reg");
  steps.split(sums, "tx", rx, "x.mid", "x.reg");
  steps.split(sums, oc_in, lanes, "oc.vector", "oc.lane");
  const bool channels_first = number("tile_order") == 0;
  std::vector<std::string> order{"u", "v", n, "y.mid", "x.mid"};
  order.insert(channels_first ? order.begin() + 2 : order.end(), oc_tile);
  const std::string inside = order.back();
  for (const char* loop : {"y.reg", "x.reg", "oc.vector", "oc.lane"}) order.push_back(loop);
  steps(ReorderStep{sums, order});
  steps.unroll(sums, {"y.reg", "x.reg", "oc.vector"});
  steps.vectorize(sums, "oc.lane");
  steps(ComputeAtStep{registers, sums, inside, ir::Scope::Register});
  steps.split(registers, in, number("reduce_inner"), "in.outer", "in.inner");
  steps.split(registers, oc_in, lanes, "oc.vector", "oc.lane");
  steps(ReorderStep{
      registers,
      {"in.outer", "in.inner", "u", "v", n, "ty", "tx", oc_tile, "oc.vector", "oc.lane"}});
  steps.unroll(registers, {"in.inner", "ty", "tx", "oc.vector"});
  steps.vectorize(registers, "oc.lane");

  // The pixels.
  const std::int64_t in_lanes = largest_power(std::min<std::int64_t>(w.in.extent, lanes));
  const std::string pixels = "pixels.winograd";
  steps.split(pixels, in, in_lanes, "in.vector", "in.lane");
  steps(ReorderStep{pixels, {n, "ty", "tx", "in.vector", "u", "v", "in.lane"}});
  steps.unroll(pixels, {"u", "v"});
  steps.vectorize(pixels, "in.lane");
  if (number("transform") == 1) {
    steps(ComputeAtStep{pixels, output, "task", ir::Scope::Global});
  } else {
    steps.parallel(pixels, {n, "ty"});
  }
  steps(ComputeAtStep{"pixels.rows", pixels, "in.vector", ir::Scope::Register});
  steps(ReorderStep{"pixels.rows", {"j", "u"}});
  steps.unroll("pixels.rows", {"j", "u"});
  steps.vectorize("pixels.rows", in);
  steps(ComputeAtStep{"pixels.tile", "pixels.rows", "j", ir::Scope::Register});
  steps.unroll("pixels.tile", {"i", "j"});
  steps.vectorize("pixels.tile", in);

  // The weights, once.
  const std::string weights = weight + ".winograd", weight_rows = weight + ".rows";
  steps.split(weights, oc_in, lanes, "oc.vector", "oc.lane");
  steps(ReorderStep{weights, {oc_tile, in, "oc.vector", "u", "v", "oc.lane"}});
  steps.parallel(weights, {oc_tile});
  steps.unroll(weights, {"u", "v"});
  steps.vectorize(weights, "oc.lane");
  steps(ComputeAtStep{weight_rows, weights, "oc.vector", ir::Scope::Register});
  steps(ReorderStep{weight_rows, {w.kw.name, "u"}});
  steps.unroll(weight_rows, {w.kw.name, "u"});
  steps.vectorize(weight_rows, oc_in);

  if (padded && number("pad") == 0) {
    const Stage pad = *steps.dag().find("pad");
    vectorize_copy(steps, pad, in_lanes, pad.axes[2].extent);
    steps.parallel("pad", {"n", "y"});
  }
  return steps.finish();
}

}  // namespace fettle::space
