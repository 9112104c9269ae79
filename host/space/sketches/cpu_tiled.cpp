// Knobs and schedule of the tiled CPU sketch (cpu_tiled.h).
#include "host/space/sketches/cpu_tiled.h"

#include <algorithm>

#include "host/ir/mutator.h"
#include "host/space/sketches/copies.h"
#include "host/space/sketches/steps.h"
#include "host/space/sketches/tiled_shape.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kWhole = 0, kWholeBody = 1024;  // of knob "unroll"

Sketch sketch_of(const TiledShape& s, const CpuTarget& target) {
  Sketch sketch{s.spans ? "cpu_tiled_groups" : "cpu_tiled", {}};
  auto& knobs = sketch.knobs;
  const Options tiles = register_tiles(s, target);
  std::int64_t narrowest = s.channels();
  for (const auto& tile : tiles) narrowest = std::min(narrowest, tile[2] * tile[3]);
  knobs.push_back({"register_tile", tiles});
  // Register tiles per task along each axis; 0: all.
  if (!s.sums.y.empty()) knobs.push_back({"task_y", powers_and_all(s.y_extent)});
  knobs.push_back({"task_x", plain({1, 4, 0})});
  knobs.push_back({"task_oc", powers_and_all((s.channels() + narrowest - 1) / narrowest)});
  // Which task comes next: 0: along the channels, 1: along the rows.
  knobs.push_back({"task_order", plain({0, 1})});
  // Register tiles of a task, outermost first: 0: channels, y, x; 1: y, x,
  // channels; 2: y, channels, x.
  knobs.push_back({"tile_order", !s.sums.y.empty() ? plain({0, 1, 2}) : plain({0, 1})});
  knobs.push_back({"reduce_inner", divisors(s.inner, 32)});
  // Reduction loops, outermost first, where the last one is cut into outer and inner: 0: as
  // listed; 1: outer, the others, inner; 2: as 0, with outer before the others' last.
  if (s.reduce.size() > 1) knobs.push_back({"reduce_order", plain({0, 1, 2})});
  // Most multiply-adds in the unrolled body.
  // 1024 gained nothing without groups, and costs twice the build.
  // kWhole: all sums of a group, channels outermost, whatever reduce_inner and reduce_order say;
  // as much of it as kWholeBody allows. Random draws of these knobs hardly ever meet there.
  knobs.push_back({"unroll", s.spans ? plain({64, 256, 1024, kWhole}) : plain({64, 256})});
  // 0: the input is padded by a launch of its own, 1: by each task for itself, 2: not at all: it is
  // read where it lies, and columns of the window that lie outside are left out, too.
  if (!s.pad.empty()) knobs.push_back({"pad", s.inlines_pad ? plain({0, 1, 2}) : plain({0, 1})});
  // Outermost axes of the window (rows; rows and columns) that lie in the padding for a whole
  // register tile are skipped; 0: computed.
  if (!s.skips.empty()) {
    Options counts;
    for (std::size_t n = 0; n <= s.skips.size(); ++n) counts.push_back({std::int64_t(n)});
    knobs.push_back({"skip", counts, 0});
  }
  // The innermost reduction loop runs 0: around the register tile, 1: inside it, for each vector
  // of sums, so that inputs of several groups are spread over their lanes while they are there.
  if (s.spans) knobs.push_back({"reduce_inside", plain({0, 1})});
  // The second factor: 0: read where it lies, 1: packed by a launch of its own, 2: by each task.
  if (!s.constant) knobs.push_back({"pack", s.made_second ? plain({1, 2}) : plain({0, 1, 2})});
  return sketch;
}

class Tiled {
 public:
  Tiled(Schedule begun, const CpuTarget& target, TiledShape shape, const SearchSpace& space,
        const Configuration& c)
      : s_(std::move(shape)),
        target_(target),
        space_(space),
        configuration_(c),
        tile_(space.value(c, "register_tile")),
        steps_(std::move(begun)) {}

  Result<Schedule> run() {
    rewrite();
    const std::string at = tile_output();
    tile_sums(at);
    if (!s_.skips.empty()) {
      for (std::int64_t i = 0; i < number("skip"); ++i) {
        steps_(SkipZerosStep{sums_, s_.pad, s_.skips[std::size_t(i)]});
      }
    }
    place_packed();
    place_other_sums();
    place_pad();
    return steps_.finish();
  }

 private:
  std::int64_t number(const char* knob) const { return space_.value(configuration_, knob)[0]; }
  std::int64_t lanes() const { return tile_[3]; }
  std::int64_t width() const { return tile_[2] * lanes() / s_.per; }  // of a tile, along `tiled`

  // The stages that are computed: without elementwise ones before the output, with a stage of
  // sums apart from the output, over tiles of the packed factor.
  void rewrite() {
    std::vector<std::string> elementwise;
    for (const Stage& stage : steps_.dag().stages) {
      if (!stage.placeholder() && stage.reduce_axes.empty() && stage.name != s_.pad &&
          stage.name != s_.second && stage.role != ir::Role::Output &&
          !is_constant(steps_.dag(), stage)) {
        elementwise.push_back(stage.name);
      }
    }
    for (const std::string& stage : elementwise) steps_(InlineStep{stage});
    sums_ = s_.reduction;
    if (s_.reduction == s_.output) {
      steps_(CacheWriteStep{s_.reduction});
      sums_ += ".local";
    }
    steps_(PackConstantStep{s_.second, s_.tiled_of_second, width(), s_.batch_of_second});
    packed_ = s_.second + ".packed";
    for (const std::string& stage : stages_packed()) steps_(InlineStep{stage});
    if (!s_.constant && number("pack") == 0) steps_(InlineStep{packed_});
  }

  // Elementwise stages that the packed factor is made of, producers last.
  std::vector<std::string> stages_packed() const {
    const ComputeDag& dag = steps_.dag();
    std::vector<std::string> names;
    const Stage* packed = dag.find(packed_);
    std::vector<const Stage*> left;
    if (packed && s_.made_second) left.push_back(packed);
    while (!left.empty()) {
      const Stage& stage = *left.back();
      left.pop_back();
      ir::walk(stage.body, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->node);
        const Stage* read = load ? dag.find(load->buffer) : nullptr;
        if (!read || read->placeholder() || !read->reduce_axes.empty()) return;
        if (std::count(names.begin(), names.end(), read->name) > 0) return;
        names.push_back(read->name);
        left.push_back(read);
      });
    }
    return names;
  }

  // Cuts a tile of a stage over `axis` into vectors and lanes; `along`: the channels of a
  // group, which vectors hold whole. Returns both loops.
  std::pair<std::string, std::string> cut_lanes(const std::string& stage, const std::string& axis,
                                                const std::string& along) {
    const std::string vector = axis + ".vector", lane = axis + ".lane";
    steps_.split(stage, axis + ".in", lanes() / s_.per, vector, lane);
    if (!s_.spans) return {vector, lane};
    steps_(FuseStep{stage, {lane, along}, axis + ".lanes"});
    return {vector, axis + ".lanes"};
  }

  // The output: tasks, register tiles of a task, elements of a register tile. Returns the
  // innermost loop over register tiles.
  std::string tile_output() {
    const TiledAxes& axes = s_.out;
    const std::string &output = s_.output, &c = axes.tiled;
    const std::int64_t tiles = (s_.tiled_extent + width() - 1) / width();
    const bool image = !axes.y.empty();
    const auto cut = [&](const std::string& axis, std::int64_t task, std::int64_t size) {
      steps_.split(output, axis, task, axis + ".task", axis + ".rest");
      steps_.split(output, axis + ".rest", size, axis + ".mid", axis + ".reg");
    };
    if (image) cut(axes.y, task_extent(number("task_y"), tile_[0], s_.y_extent), tile_[0]);
    cut(axes.x, task_extent(number("task_x"), tile_[1], s_.x_extent), tile_[1]);
    steps_.split(output, c + ".tile", task_extent(number("task_oc"), 1, tiles), c + ".task",
                 c + ".mid");
    const auto [vector, lane] = cut_lanes(output, c, axes.channel);

    std::vector<std::string> tasks = axes.outer, channels = axes.groups;
    if (image) tasks.push_back(axes.y + ".task");
    tasks.push_back(axes.x + ".task");
    channels.push_back(c + ".task");
    tasks.insert(number("task_order") == 0 ? tasks.end() : tasks.begin(), channels.begin(),
                 channels.end());
    tasks.insert(tasks.begin(), axes.batch.begin(), axes.batch.end());

    std::vector<std::string> mids{axes.x + ".mid"};
    if (image) mids.insert(mids.begin(), axes.y + ".mid");
    const std::int64_t order = number("tile_order");
    mids.insert(order == 0 ? mids.begin() : order == 1 ? mids.end() : mids.end() - 1, c + ".mid");
    // Where lanes are stored apart, a vector's stores for neighbouring pixels follow one
    // another, for the back end to transpose.
    std::vector<std::string> elements{axes.x + ".reg", vector, lane};
    if (image) elements.insert(elements.begin(), axes.y + ".reg");
    if (s_.stored_apart) std::rotate(elements.begin(), elements.end() - 2, elements.end() - 1);
    std::vector<std::string> loops = tasks;
    loops.insert(loops.end(), mids.begin(), mids.end());
    loops.insert(loops.end(), elements.begin(), elements.end());
    steps_(ReorderStep{output, loops});
    steps_.parallel(output, tasks);
    if (image) steps_.unroll(output, {axes.y + ".reg"});
    steps_.unroll(output, {axes.x + ".reg", vector});
    steps_.vectorize(output, lane);
    return mids.back();
  }

  // The sums of a register tile, inside loop `at` of the output.
  void tile_sums(const std::string& at) {
    steps_(ComputeAtStep{sums_, s_.output, at, ir::Scope::Register});
    const auto [vector, lane] = cut_lanes(sums_, s_.sums.tiled, s_.sums.channel);
    const std::string last = s_.reduce.back().name;
    const bool whole = number("unroll") == kWhole;
    const std::int64_t inner = whole ? 1 : number("reduce_inner");
    steps_.split(sums_, last, inner, last + ".outer", last + ".inner");
    struct Loop {
      std::string name;
      std::int64_t trips;
      bool window;
    };
    std::vector<Loop> loops;
    for (std::size_t i = 0; i + 1 < s_.reduce.size(); ++i) {
      loops.push_back(
          {s_.reduce[i].name, s_.reduce[i].extent, s_.reduce_roles[i] == AxisRole::Window});
    }
    const std::int64_t order = loops.empty() ? 0 : whole ? 1 : number("reduce_order");
    loops.insert(order == 0   ? loops.end()
                 : order == 1 ? loops.begin()
                              : loops.end() - 1,
                 {last + ".outer", s_.inner / inner, false});
    loops.push_back({last + ".inner", inner, false});

    std::vector<std::string> names;
    for (const Loop& loop : loops) names.push_back(loop.name);
    names.insert(names.end(), s_.sums.rows.begin(), s_.sums.rows.end());
    for (const std::string& loop : {s_.sums.tiled + ".tile", vector, lane}) names.push_back(loop);
    if (s_.spans && number("reduce_inside") == 1) {
      std::erase(names, loops.back().name);
      names.insert(names.end() - 1, loops.back().name);
      steps_.unroll(sums_, {loops.back().name});
    }
    steps_(ReorderStep{sums_, names});
    for (const std::string& row : s_.sums.rows) steps_.unroll(sums_, {row});
    steps_.unroll(sums_, {s_.sums.tiled + ".tile", vector});
    steps_.vectorize(sums_, lane);
    const std::int64_t most = whole ? kWholeBody : number("unroll");
    std::int64_t body = tile_[0] * tile_[1] * tile_[2];
    for (std::size_t i = loops.size(); i-- > 0;) {
      body *= loops[i].trips;
      if (body > most) break;
      // Neighbouring outputs share pixels. Unrolled over the window with several
      // channels inside, each pixel would stay live from one kernel column to the
      // next, in more registers than there are.
      if (loops[i].window && loops[i].trips > 1 && inner > 1) break;
      steps_.unroll(sums_, {loops[i].name});
    }
  }

  // Packing the second factor: a constant once.
  void place_packed() {
    const Stage* packed = steps_.dag().find(packed_);
    if (!packed) return;  // it is read where it lies
    const Stage stage = *packed;
    const std::string &c = s_.tiled_of_second, along = stage.axes.back().name;
    const auto [vector, lane] = cut_lanes(packed_, c, along);
    steps_.vectorize(packed_, lane);
    if (!s_.constant && number("pack") == 2) {
      steps_(ComputeAtStep{packed_, s_.output, "task", ir::Scope::Global});
      return;
    }
    std::vector<std::string> tasks = s_.batch_of_second;
    tasks.push_back(c + ".tile");
    if (s_.reduce.size() > 1) tasks.push_back(stage.axes[tasks.size()].name);
    steps_.parallel(packed_, tasks);
  }

  // Sums of one factor (what a dot product's offset adds to the others): of a constant once, on
  // loading.
  void place_other_sums() {
    for (const Stage& stage : ComputeDag(steps_.dag()).stages) {
      if (!stage.reduce_axes.empty() && stage.name != sums_) place_other_sum(stage);
    }
  }

  void place_other_sum(const Stage& stage) {
    const Axis& last = stage.axes.back();
    const std::string vector = last.name + ".vector", lane = last.name + ".lane";
    // No overlap: another thread's sums would be added to.
    steps_(SplitStep{stage.name, last.name, std::min(lanes(), last.extent), vector, lane,
                     Tail::Guard});
    std::vector<std::string> tasks, loops;
    for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) tasks.push_back(stage.axes[d].name);
    tasks.push_back(vector);
    loops = tasks;
    for (const Axis& axis : stage.reduce_axes) loops.push_back(axis.name);
    loops.push_back(lane);
    steps_(ReorderStep{stage.name, loops});
    steps_.parallel(stage.name, tasks);
    steps_.vectorize(stage.name, lane);
  }

  void place_pad() {
    const Stage* found = steps_.dag().find(s_.pad);
    if (!found) return;
    if (number("pad") == 2) return steps_(InlineStep{s_.pad});
    const Stage pad = *found;
    // Few channels are one vector of just them: images have three.
    const std::int64_t pad_lanes = std::min<std::int64_t>(
        pad.axes.back().extent, target_.vector_bits / (8 * pad.buffer->type.bytes()));
    // A task's columns of the input are no fewer than its columns of the output.
    const bool own = number("pad") == 0;
    const std::int64_t part = own ? pad.axes[pad.axes.size() - 2].extent
                                  : task_extent(number("task_x"), tile_[1], s_.x_extent);
    vectorize_copy(steps_, pad, pad_lanes, part);
    if (!own) {
      steps_(ComputeAtStep{pad.name, s_.output, "task", ir::Scope::Global});
      return;
    }
    std::vector<std::string> rows{pad.axes[0].name};
    for (std::size_t d = 1; d + 2 < pad.axes.size(); ++d) rows.push_back(pad.axes[d].name);
    steps_.parallel(pad.name, rows);
  }

  TiledShape s_;
  const CpuTarget& target_;
  const SearchSpace& space_;
  const Configuration& configuration_;
  const std::vector<std::int64_t> tile_;  // rows of y, rows of x, vectors, lanes
  std::string sums_, packed_;
  Steps steps_;
};

Result<Schedule> schedule_of(Schedule begun, const CpuTarget& target, bool spans,
                             const SearchSpace& space, const Configuration& c) {
  TiledShape shape = tiled_shape(begun.dag(), spans);
  return Tiled(std::move(begun), target, std::move(shape), space, c).run();
}

}  // namespace

Sketch cpu_tiled_sketch(const ComputeDag& dag, const CpuTarget& target) {
  return sketch_of(tiled_shape(dag, false), target);
}

Sketch cpu_tiled_groups_sketch(const ComputeDag& dag, const CpuTarget& target) {
  return sketch_of(tiled_shape(dag, true), target);
}

Result<Schedule> cpu_tiled_schedule(Schedule begun, const CpuTarget& target,
                                    const SearchSpace& space, const Configuration& c) {
  return schedule_of(std::move(begun), target, false, space, c);
}

Result<Schedule> cpu_tiled_groups_schedule(Schedule begun, const CpuTarget& target,
                                           const SearchSpace& space, const Configuration& c) {
  return schedule_of(std::move(begun), target, true, space, c);
}

}  // namespace fettle::space
