// Knobs and schedule of the GPU sketch for rows (gpu_rows.h).
#include "host/space/sketches/gpu_rows.h"

#include <algorithm>

#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/row_lanes.h"

namespace fettle::space {

namespace {

// The parts that a reduction is computed in: names of the stages.
struct Parts {
  std::string all, few;  // by all threads and by a few; few: empty where all are few
  std::string lanes;     // the rest, lane by lane; empty: there is one lane
};

// Each lane of a vector is a part of its own, so that whole vectors are left out past a row's end.
Parts in_parts(Steps& steps, const std::string& stage, std::int64_t threads, std::int64_t few,
               std::int64_t lanes) {
  Parts parts;
  std::string sum = stage;
  if (lanes > 1) {
    steps(RfactorStep{stage, steps.dag().find(stage)->reduce_axes[0].name, lanes, "lanes", true,
                      true});
    sum = parts.lanes = stage + ".lanes";
  }
  const auto axis = [&] { return steps.dag().find(sum)->reduce_axes[0].name; };
  const bool last = lanes == 1;
  steps(RfactorStep{sum, axis(), threads, "threads", true, last});
  parts.all = sum + ".threads";
  if (threads > few && few > 1) {
    steps(RfactorStep{sum, axis(), few, "warp", true, last});
    parts.few = sum + ".warp";
  }
  return parts;
}

// What divides all rows, of which a thread takes so many elements at once; at last one.
Options row_vectors(const ComputeDag& dag, const GpuTarget& target) {
  std::vector<std::int64_t> rows;
  for (const Stage& stage : dag.stages) {
    if (!stage.reduce_axes.empty()) rows.push_back(stage.reduce_axes[0].extent);
  }
  const Stage& output = dag.stages.back();
  if (output.axes.size() > 1) rows.push_back(output.axes[1].extent);
  Options out;
  for (auto& lanes : lanes_within(longest_row(dag), target)) {
    const bool divides =
        std::all_of(rows.begin(), rows.end(), [&](auto row) { return row % lanes[0] == 0; });
    if (divides && lanes[0] > 1) out.push_back(std::move(lanes));
  }
  out.push_back({1});
  return out;
}

// A stage of a row's parts, in memory that the block shares. `thread`: its axis that threads lie
// along; empty: one thread computes it. lanes: of its last axis; 1: that is no axis of lanes.
void share(Steps& steps, const std::string& name, const std::string& output, const std::string& at,
           const std::string& thread, std::int64_t lanes, std::int64_t unroll) {
  steps(CacheWriteStep{name});
  const std::string sum = name + ".local";
  const auto axes = steps.dag().find(name)->axes;
  steps(ComputeAtStep{name, output, at, ir::Scope::BlockShared});
  if (!thread.empty()) steps(BindStep{name, thread, ir::ThreadAxis::ThreadX});
  if (lanes > 1) in_vectors(steps, name, axes.back().name, lanes);
  const std::string& within = axes[axes.size() - (lanes > 1 ? 2 : 1)].name;
  steps(ComputeAtStep{sum, name, within, ir::Scope::Register});
  const Axis over = steps.dag().find(sum)->reduce_axes[0];
  const std::int64_t inner =
      thread.empty() ? over.extent : largest_power(std::min(unroll, over.extent));
  steps(SplitStep{sum, over.name, over.extent % inner == 0 ? inner : 1, "outer", "inner"});
  std::vector<std::string> order{"outer", "inner"};
  for (const Axis& axis : axes) order.push_back(axis.name);
  order.pop_back();
  for (std::size_t i = 1; i < order.size(); ++i) steps.unroll(sum, {order[i]});
  for (std::string& loop : in_vectors(steps, sum, axes.back().name, lanes)) {
    order.push_back(std::move(loop));
  }
  steps(ReorderStep{sum, order});
}

}  // namespace

std::int64_t longest_row(const ComputeDag& dag) {
  std::int64_t longest = 1;
  for (const Stage& stage : dag.stages) {
    if (!stage.reduce_axes.empty()) longest = std::max(longest, stage.reduce_axes[0].extent);
  }
  return longest;
}

bool gpu_rows_fits(const ComputeDag& dag, const GpuTarget& target) {
  int reductions = 0;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (!reduces_rows(dag, stage)) return false;
    ++reductions;
  }
  const Stage& output = dag.stages.back();
  return reductions > 0 && output.axes.size() <= 2 && output.store_at.empty() &&
         output.axes[0].extent <= target.grid_x;
}

Sketch gpu_rows_sketch(const ComputeDag& dag, const GpuTarget& target) {
  Sketch sketch{"gpu_rows", {}};
  Options threads;
  const std::int64_t most = std::min<std::int64_t>(1024, target.threads_per_block);
  for (std::int64_t n = target.warp; n <= most; n *= 2) {
    if (n == target.warp || n / 2 < longest_row(dag)) threads.push_back({n});
  }
  sketch.knobs.push_back({"threads", threads});
  // Elements of a thread's part that are unrolled.
  sketch.knobs.push_back({"unroll", plain({1, 2, 4, 8})});
  // Neighbours that a thread takes at once.
  const Options lanes = row_vectors(dag, target);
  if (lanes.size() > 1) {
    sketch.knobs.push_back({"lanes", lanes, static_cast<std::uint32_t>(lanes.size() - 1)});
  }
  return sketch;
}

Result<Schedule> gpu_rows_schedule(const ComputeDag& dag, const GpuTarget& target,
                                   const SearchSpace& space, const Configuration& c) {
  const std::int64_t threads = space.value(c, "threads")[0], unroll = space.value(c, "unroll")[0],
                     few = std::min<std::int64_t>(target.warp, threads),
                     lanes = value_or(space, c, "lanes", 1);
  Steps steps{Schedule(dag)};
  // Values of whole rows are computed where they are read; those of one row, once.
  for (const Stage& stage : dag.stages) {
    const bool whole = !stage.placeholder() && stage.role != ir::Role::Output &&
                       stage.reduce_axes.empty() && stage.axes.size() > 1;
    if (whole) steps(InlineStep{stage.name});
  }
  const std::string output = dag.stages.back().name;
  if (!steps.dag().find(output)->reduce_axes.empty()) steps(CacheWriteStep{output});
  std::vector<std::string> reductions;
  for (const Stage& stage : steps.dag().stages) {
    if (!stage.reduce_axes.empty()) reductions.push_back(stage.name);
  }
  std::vector<Parts> parts;
  for (const std::string& name : reductions) {
    parts.push_back(in_parts(steps, name, threads, few, lanes));
  }

  const auto axes = steps.dag().find(output)->axes;
  const std::string row = axes[0].name;
  std::string at = row;
  if (axes.size() > 1) {
    std::string elements = axes[1].name;
    if (lanes > 1) {
      steps.split(output, elements, lanes, "vectors", "lane");
      steps.vectorize(output, "lane");
      elements = "vectors";
    }
    steps(SplitStep{output, elements, threads, "round", "thread", Tail::Guard});
    steps(BindStep{output, "thread", ir::ThreadAxis::ThreadX});
  } else {
    steps.split(output, row, 1, "row", "thread");
    steps(BindStep{output, "thread", ir::ThreadAxis::ThreadX});
    at = "row";
  }
  steps(BindStep{output, at, ir::ThreadAxis::BlockX});

  const ComputeDag now = steps.dag();
  for (const Stage& stage : now.stages) {
    if (stage.placeholder() || stage.name == output) continue;
    steps(ComputeAtStep{stage.name, output, at, ir::Scope::BlockShared});
  }
  for (const std::string& name : reductions) {
    share(steps, name, output, at, "", 1, unroll);
  }
  for (const Parts& each : parts) {
    for (const std::string& name : {each.all, each.few}) {
      if (name.empty()) continue;
      const auto& own = steps.dag().find(name)->axes;
      const std::string thread = (lanes > 1 ? own.front() : own.back()).name;
      share(steps, name, output, at, thread, lanes, unroll);
    }
    if (!each.lanes.empty()) share(steps, each.lanes, output, at, "", lanes, unroll);
  }
  return steps.finish();
}

}  // namespace fettle::space
