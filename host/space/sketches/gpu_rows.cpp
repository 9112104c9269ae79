// Knobs and schedule of the GPU sketch for rows (gpu_rows.h).
#include "host/space/sketches/gpu_rows.h"

#include <algorithm>

#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/row_lanes.h"

namespace fettle::space {

namespace {

// The parts that a reduction is computed in, by all threads and by a few: names of the stages.
struct Parts {
  std::string all, few;  // few: empty where all are few
};

Parts in_parts(Steps& steps, const std::string& stage, std::int64_t threads, std::int64_t few) {
  const auto axis = [&] { return steps.dag().find(stage)->reduce_axes[0].name; };
  Parts parts;
  steps(RfactorStep{stage, axis(), threads, "threads", true, true});
  parts.all = stage + ".threads";
  if (threads > few && few > 1) {
    steps(RfactorStep{stage, axis(), few, "warp", true, true});
    parts.few = stage + ".warp";
  }
  return parts;
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
  return sketch;
}

Result<Schedule> gpu_rows_schedule(const ComputeDag& dag, const GpuTarget& target,
                                   const SearchSpace& space, const Configuration& c) {
  const std::int64_t threads = space.value(c, "threads")[0], unroll = space.value(c, "unroll")[0],
                     few = std::min<std::int64_t>(target.warp, threads);
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
  for (const std::string& name : reductions) parts.push_back(in_parts(steps, name, threads, few));

  const auto axes = steps.dag().find(output)->axes;
  const std::string row = axes[0].name;
  std::string at = row;
  if (axes.size() > 1) {
    steps(SplitStep{output, axes[1].name, threads, "round", "thread", Tail::Guard});
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
  std::vector<std::string> shared = reductions;
  for (const Parts& each : parts) {
    shared.push_back(each.all);
    if (!each.few.empty()) shared.push_back(each.few);
  }
  for (const std::string& name : shared) {
    steps(CacheWriteStep{name});
    const std::string thread = steps.dag().find(name)->axes.back().name, sum = name + ".local";
    const bool alone = steps.dag().find(name)->axes.size() == 1;  // one thread takes the rest
    steps(ComputeAtStep{name, output, at, ir::Scope::BlockShared});
    if (!alone) steps(BindStep{name, thread, ir::ThreadAxis::ThreadX});
    steps(ComputeAtStep{sum, name, thread, ir::Scope::Register});
    const Axis over = steps.dag().find(sum)->reduce_axes[0];
    const std::int64_t inner = alone ? over.extent : largest_power(std::min(unroll, over.extent));
    steps(SplitStep{sum, over.name, over.extent % inner == 0 ? inner : 1, "outer", "inner"});
    std::vector<std::string> order{"outer", "inner"};
    for (const Axis& axis : steps.dag().find(sum)->axes) order.push_back(axis.name);
    steps(ReorderStep{sum, order});
    for (std::size_t i = 1; i < order.size(); ++i) steps.unroll(sum, {order[i]});
  }
  return steps.finish();
}

}  // namespace fettle::space
