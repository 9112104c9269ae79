// Knobs and schedule of the Winograd sketch (cpu_winograd.h).
#include "host/space/sketches/cpu_winograd.h"

#include <limits>
#include <optional>

#include "host/space/rewrite.h"
#include "host/space/sketches/copies.h"
#include "host/space/sketches/cpu_tiled.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

const Stage& stage_of(const ComputeDag& dag, const std::string& name) { return *dag.find(name); }

// The axis's name, by its place (winograd_convolution.h).
std::string axis_of(const ComputeDag& dag, const std::string& stage, std::size_t place) {
  return stage_of(dag, stage).axes[place].name;
}

// The padded copy that tiles are read from; null: they are read from the input.
const Stage* padding_of(const Alternative& alternative) {
  return computed_source(alternative.dag, stage_of(alternative.dag, alternative.winograd->tile));
}

class WinogradSchedule {
 public:
  WinogradSchedule(const Alternative& alternative, const SearchSpace& space, const Configuration& c)
      : stages_(*alternative.winograd),
        space_(space),
        configuration_(c),
        tile_(space.value(c, "register_tile")),
        products_(stages_.products),
        registers_(products_ + ".local"),
        output_(alternative.dag.stages.back().name),
        steps_(Schedule(alternative.dag)) {
    if (const Stage* pad = padding_of(alternative)) pad_ = pad->name;
    const Stage& sums = stage_of(alternative.dag, products_);
    in_ = sums.reduce_axes[0].name, in_extent_ = sums.reduce_axes[0].extent;
    n_ = sums.axes[2].name, ty_ = sums.axes[3].name, tx_ = sums.axes[4].name;
    rows_ = sums.axes[3].extent, columns_ = sums.axes[4].extent;
    channel_ = sums.axes[5].name, channels_ = sums.axes[5].extent;
    channel_tile_ = channel_ + ".tile", channel_in_ = channel_ + ".in";
  }

  Result<Schedule> run() {
    rewrite();
    tile_output();
    tile_products();
    place_pixels();
    place_weights();
    place_padding();
    return steps_.finish();
  }

 private:
  std::int64_t number(const char* knob) const { return space_.value(configuration_, knob)[0]; }
  std::int64_t lanes() const { return tile_[3]; }
  std::int64_t width() const { return tile_[2] * lanes(); }
  std::string axis(const std::string& stage, std::size_t place) const {
    return axis_of(steps_.dag(), stage, place);
  }

  // Constants that are computed on loading are part of what reads them, channels are cut into
  // tiles, and products are in memory, their sums in registers.
  void rewrite() {
    std::vector<std::string> constants;
    for (const Stage& stage : steps_.dag().stages) {
      if (stage.name == stages_.weight_rows) break;
      const bool made = !stage.placeholder() && is_constant(steps_.dag(), stage);
      if (made) constants.push_back(stage.name);
    }
    steps_(TileAxisStep{stages_.weight_rows, axis(stages_.weight_rows, 3), width()});
    for (const std::string& constant : constants) steps_(InlineStep{constant});
    if (!pad_.empty() && number("pad") == 1) steps_(InlineStep{pad_});
    steps_(CacheWriteStep{products_});
  }

  // The output: tasks, tiles of channels, tiles of pixels, pixels of a tile.
  void tile_output() {
    const std::int64_t tiles = (channels_ + width() - 1) / width();
    const std::string a = axis(output_, 3), b = axis(output_, 4);
    steps_.split(output_, ty_, task_extent(number("task_y"), tile_[0], rows_), "y.task", "y.mid");
    steps_.split(output_, tx_, task_extent(number("task_x"), tile_[1], columns_), "x.task",
                 "x.mid");
    steps_.split(output_, channel_tile_, task_extent(number("task_oc"), 1, tiles), "oc.task",
                 "oc.mid");
    steps_.split(output_, channel_in_, lanes(), "oc.vector", "oc.lane");
    const std::vector<std::string> tasks{n_, "y.task", "x.task", "oc.task"};
    steps_(ReorderStep{output_,
                       {n_, "y.task", "x.task", "oc.task", "oc.mid", "y.mid", "x.mid", "oc.vector",
                        a, b, "oc.lane"}});
    steps_.parallel(output_, tasks);
    steps_.unroll(output_, {a, b});
    steps_.vectorize(output_, "oc.lane");
    const std::string& rows = stages_.sum_rows;
    const std::string row = axis(rows, 3), v = axis(rows, 4);
    steps_(ComputeAtStep{rows, output_, "oc.vector", ir::Scope::Register});
    steps_(ReorderStep{rows, {v, row}});
    steps_.unroll(rows, {v, row});
    steps_.vectorize(rows, channel_in_);
  }

  void tile_products() {
    const std::string u = axis(products_, 0), v = axis(products_, 1);
    steps_(ComputeAtStep{products_, output_, number("products") == 0 ? "task" : "oc.mid",
                         ir::Scope::Global});
    steps_.split(products_, ty_, tile_[0], "y.mid", "y.reg");
    steps_.split(products_, tx_, tile_[1], "x.mid", "x.reg");
    steps_.split(products_, channel_in_, lanes(), "oc.vector", "oc.lane");
    const bool channels_first = number("tile_order") == 0;
    std::vector<std::string> order{u, v, n_, "y.mid", "x.mid"};
    order.insert(channels_first ? order.begin() + 2 : order.end(), channel_tile_);
    const std::string inside = order.back();
    for (const char* loop : {"y.reg", "x.reg", "oc.vector", "oc.lane"}) order.push_back(loop);
    steps_(ReorderStep{products_, order});
    steps_.unroll(products_, {"y.reg", "x.reg", "oc.vector"});
    steps_.vectorize(products_, "oc.lane");
    steps_(ComputeAtStep{registers_, products_, inside, ir::Scope::Register});
    steps_.split(registers_, in_, number("reduce_inner"), "in.outer", "in.inner");
    steps_.split(registers_, channel_in_, lanes(), "oc.vector", "oc.lane");
    steps_(ReorderStep{
        registers_,
        {"in.outer", "in.inner", u, v, n_, ty_, tx_, channel_tile_, "oc.vector", "oc.lane"}});
    steps_.unroll(registers_, {"in.inner", ty_, tx_, "oc.vector"});
    steps_.vectorize(registers_, "oc.lane");
  }

  void place_pixels() {
    const std::string &pixels = stages_.pixels, &rows = stages_.data_rows, &tile = stages_.tile;
    const std::string u = axis(pixels, 0), v = axis(pixels, 1);
    steps_.split(pixels, in_, in_lanes(), "in.vector", "in.lane");
    steps_(ReorderStep{pixels, {n_, ty_, tx_, "in.vector", u, v, "in.lane"}});
    steps_.unroll(pixels, {u, v});
    steps_.vectorize(pixels, "in.lane");
    if (number("transform") == 1) {
      steps_(ComputeAtStep{pixels, output_, "task", ir::Scope::Global});
    } else {
      steps_.parallel(pixels, {n_, ty_});
    }
    const std::string row = axis(rows, 3), column = axis(rows, 4);
    steps_(ComputeAtStep{rows, pixels, "in.vector", ir::Scope::Register});
    steps_(ReorderStep{rows, {column, row}});
    steps_.unroll(rows, {column, row});
    steps_.vectorize(rows, in_);
    steps_(ComputeAtStep{tile, rows, column, ir::Scope::Register});
    steps_.unroll(tile, {axis(tile, 3), axis(tile, 4)});
    steps_.vectorize(tile, in_);
  }

  // Once: tiles of channels come first now.
  void place_weights() {
    const std::string &weights = stages_.weights, &rows = stages_.weight_rows;
    const std::string u = axis(weights, 1), v = axis(weights, 2);
    steps_.split(weights, channel_in_, lanes(), "oc.vector", "oc.lane");
    steps_(ReorderStep{weights, {channel_tile_, in_, "oc.vector", u, v, "oc.lane"}});
    steps_.parallel(weights, {channel_tile_});
    steps_.unroll(weights, {u, v});
    steps_.vectorize(weights, "oc.lane");
    const std::string row = axis(rows, 1), column = axis(rows, 2);
    steps_(ComputeAtStep{rows, weights, "oc.vector", ir::Scope::Register});
    steps_(ReorderStep{rows, {column, row}});
    steps_.unroll(rows, {column, row});
    steps_.vectorize(rows, channel_in_);
  }

  void place_padding() {
    if (pad_.empty() || number("pad") != 0) return;
    const Stage pad = stage_of(steps_.dag(), pad_);
    vectorize_copy(steps_, pad, in_lanes(), pad.axes[2].extent);
    steps_.parallel(pad_, {pad.axes[0].name, pad.axes[1].name});
  }

  std::int64_t in_lanes() const {
    return largest_power(std::min<std::int64_t>(in_extent_, lanes()));
  }

  const WinogradStages stages_;
  const SearchSpace& space_;
  const Configuration& configuration_;
  const std::vector<std::int64_t> tile_;  // rows and columns of pixel tiles, vectors, lanes
  std::string products_, registers_, output_, pad_;                     // stages; pad_: empty: none
  std::string n_, ty_, tx_, in_, channel_, channel_tile_, channel_in_;  // axes
  std::int64_t rows_ = 1, columns_ = 1, channels_ = 1, in_extent_ = 1;
  Steps steps_;
};

// Transformed pixels and products are buffers that int32 indexes, in the device's memory.
// Nothing: not even the smallest tasks' are.
std::optional<Constraint> scratch_fits(const Alternative& alternative, const CpuTarget& target,
                                       const Options& tiles) {
  const Stage& sums = stage_of(alternative.dag, alternative.winograd->products);
  const double matrices = double(sums.axes[0].extent * sums.axes[1].extent),
               all_pixels = double(
                   stage_of(alternative.dag, alternative.winograd->pixels).buffer->elements());
  const std::int64_t rows = sums.axes[3].extent, columns = sums.axes[4].extent,
                     channels = sums.axes[5].extent, in = sums.reduce_axes[0].extent;
  const double threads = target.threads, memory = target.memory_bytes > 0
                                                      ? double(target.memory_bytes)
                                                      : std::numeric_limits<double>::infinity();
  const auto holds = [=](std::span<const KnobValue* const> values) {
    const KnobValue& tile = *values[0];
    const auto number = [&](std::size_t k) { return values[k]->front(); };
    const std::int64_t width = tile[2] * tile[3], wide = (channels + width - 1) / width;
    const double places = threads * matrices * double(task_extent(number(1), tile[0], rows)) *
                          double(task_extent(number(2), tile[1], columns));
    const double pixels = number(4) == 0 ? all_pixels : places * double(in);
    const double products =
        places * double(width * (number(5) == 0 ? task_extent(number(3), 1, wide) : 1));
    constexpr double kMost = std::numeric_limits<std::int32_t>::max();
    return pixels <= kMost && products <= kMost && sizeof(float) * (pixels + products) <= memory;
  };
  const KnobValue one{1};
  const std::vector<const KnobValue*> least{&tiles.front(), &one, &one, &one, &one, &one};
  if (!holds(least)) return std::nullopt;
  return Constraint{"transformed pixels and products fit the memory",
                    {"register_tile", "task_y", "task_x", "task_oc", "transform", "products"},
                    holds};
}

}  // namespace

Sketch cpu_winograd_sketch(const Alternative& alternative, const CpuTarget& target) {
  const WinogradStages& made = *alternative.winograd;
  const Stage& products = stage_of(alternative.dag, made.products);
  const std::int64_t rows = products.axes[3].extent, columns = products.axes[4].extent,
                     channels = products.axes[5].extent;
  std::string name = "cpu_winograd_" + std::to_string(made.outputs_y);
  if (made.outputs_y != made.outputs_x) name += "x" + std::to_string(made.outputs_x);
  Sketch sketch{std::move(name), {}};
  auto& knobs = sketch.knobs;
  const Options tiles = register_tiles(rows, columns, channels, target);
  std::int64_t narrowest = channels;
  for (const auto& t : tiles) narrowest = std::min(narrowest, t[2] * t[3]);
  knobs.push_back({"register_tile", tiles});
  // Register tiles per task along each axis; 0: all.
  knobs.push_back({"task_y", powers_and_all(rows)});
  knobs.push_back({"task_x", plain({1, 2, 0})});
  knobs.push_back({"task_oc", powers_and_all((channels + narrowest - 1) / narrowest)});
  // 0: the pixels are transformed by a launch of its own, 1: by each task for itself.
  knobs.push_back({"transform", plain({0, 1})});
  // Products are kept for 0: all channels of a task, 1: one tile of channels.
  knobs.push_back({"products", plain({0, 1})});
  // Register tiles of the products, outermost first: 0: channels, rows, columns; 1:
  // rows, columns, channels.
  knobs.push_back({"tile_order", plain({0, 1})});
  knobs.push_back({"reduce_inner", divisors(products.reduce_axes[0].extent, 16)});
  // 0: the input is padded by a launch of its own, 1: where tiles are read.
  if (padding_of(alternative)) knobs.push_back({"pad", plain({0, 1})});
  if (auto fits = scratch_fits(alternative, target, tiles)) sketch.constraints = {*fits};
  return sketch;
}

Result<Schedule> cpu_winograd_schedule(const Alternative& alternative, const CpuTarget&,
                                       const SearchSpace& space, const Configuration& c) {
  return WinogradSchedule(alternative, space, c).run();
}

}  // namespace fettle::space
