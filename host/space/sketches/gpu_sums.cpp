// Knobs and schedule of the GPU sketch for long reductions (gpu_sums.h).
#include "host/space/sketches/gpu_sums.h"

#include <algorithm>
#include <limits>

#include "host/space/axis_roles.h"
#include "host/space/fused_axes.h"
#include "host/space/rewrite.h"
#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/row_lanes.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kShortest = 64;  // reductions
constexpr std::int64_t kMostParts = 256;
constexpr std::int64_t kMostColumns = 64;    // threads along the results
constexpr std::int64_t kMostThreads = 1024;  // along the reduction
constexpr std::int64_t kMostUnrolled = 64;   // what is left to one thread

bool is_matrix_product(const ComputeDag& dag, const Stage& stage) {
  const auto roles = roles_of(dag, stage);
  if (!roles || !roles->second) return false;
  std::int64_t rows = 1, columns = 1;
  for (std::size_t i = 0; i < stage.axes.size(); ++i) {
    if (roles->axes[i] == AxisRole::Spatial) rows *= stage.axes[i].extent;
    if (roles->axes[i] == AxisRole::Channel) columns *= stage.axes[i].extent;
  }
  return rows > kFewRows && columns > kFewRows;
}

// How the threads of a block share a reduction out.
struct Sharing {
  std::int64_t columns = 1, threads = 1,
               few = 1;                   // along the results, the reduction; the last of these
  std::int64_t lanes = 1, sum_lanes = 1;  // that a thread takes at once, one of them 1
  std::int64_t unroll = 1;
};

Options powers(std::int64_t most) {
  Options out{{1}};
  while (2 * out.back()[0] <= most) out.push_back({2 * out.back()[0]});
  return out;
}

// What a thread takes at once, and at least a warp finds some of.
Options lanes_of(const LongReduction& r, const GpuTarget& target) {
  if (r.along_results) return lanes_within(r.dag.find(r.output)->axes.back().extent, target);
  Options out;
  for (const auto& lanes : lanes_within(r.contiguous, target)) {
    const bool whole = lanes[0] == 1 || r.contiguous % lanes[0] == 0;
    if (whole && lanes[0] * target.warp <= r.length) out.push_back(lanes);
  }
  return out.empty() ? plain({1}) : out;
}

// A reduction over one axis by one thread, by vectors of its last axis.
void reduce_alone(Steps& steps, const std::string& name, std::int64_t unroll, std::int64_t lanes) {
  const Stage stage = *steps.dag().find(name);
  const Axis& over = stage.reduce_axes[0];
  const std::int64_t inner = largest_power(std::min(unroll, over.extent));
  steps.split(name, over.name, over.extent % inner == 0 ? inner : 1, "outer", "inner");
  steps.unroll(name, {"inner"});
  std::vector<std::string> order{"outer", "inner"};
  for (const Axis& axis : stage.axes) {
    if (&axis != &stage.axes.back()) order.push_back(axis.name);
  }
  for (std::string& loop : in_vectors(steps, name, stage.axes.back().name, lanes)) {
    order.push_back(std::move(loop));
  }
  steps(ReorderStep{name, order});
}

// Parts of a reduction, the first axis, by the threads of a block of `launch`.
void share_parts(Steps& steps, const std::string& name, const std::string& launch,
                 const Sharing& by) {
  steps(CacheWriteStep{name});
  steps(ComputeAtStep{name, launch, "block", ir::Scope::BlockShared});
  const std::vector<Axis> axes = steps.dag().find(name)->axes;
  const std::size_t column = axes.size() - (by.sum_lanes > 1 ? 2 : 1);
  std::vector<std::string> order;
  for (std::size_t d = 1; d < column; ++d) order.push_back(axes[d].name);
  steps.split(name, axes[column].name, by.lanes, "thread.x", "column");
  order.insert(order.end(), {axes[0].name, "thread.x"});
  const std::string last = by.sum_lanes > 1 ? axes.back().name : "column";
  if (by.sum_lanes > 1) order.push_back("column");
  for (std::string& loop : in_vectors(steps, name, last, std::max(by.lanes, by.sum_lanes))) {
    order.push_back(std::move(loop));
  }
  steps(ReorderStep{name, order});
  steps(BindStep{name, axes[0].name, ir::ThreadAxis::ThreadY});
  steps(BindStep{name, "thread.x", ir::ThreadAxis::ThreadX});
  steps(ComputeAtStep{name + ".local", name, "thread.x", ir::Scope::Register});
  reduce_alone(steps, name + ".local", by.unroll, std::max(by.lanes, by.sum_lanes));
}

// `launch`, each of whose elements needs one of `reduction`, by blocks. Returns what it has placed.
std::vector<std::string> launch_reduction(Steps& steps, const std::string& launch,
                                          const std::string& reduction, const Sharing& by) {
  std::vector<std::string> placed{launch, reduction};
  const std::string over = steps.dag().find(reduction)->reduce_axes[0].name;
  std::string sum = reduction;
  if (by.sum_lanes > 1) {
    steps(RfactorStep{reduction, over, by.sum_lanes, "lanes", true, true});
    sum += ".lanes";
    placed.push_back(sum);
  }
  std::vector<std::string> shared;
  if (by.threads > 1) {
    steps(RfactorStep{sum, over, by.threads, "threads", true, false});
    shared.push_back(sum + ".threads");
  }
  if (by.threads > by.few && by.few > 1) {
    steps(RfactorStep{sum, over + ".threads", by.few, "warp", true, false});
    shared.push_back(sum + ".warp");
  }

  const std::vector<Axis> axes = steps.dag().find(launch)->axes;
  steps.split(launch, axes.back().name, by.columns * by.lanes, "tile", "rest");
  steps.split(launch, "rest", by.lanes, "threads", "column");
  steps.split(launch, "threads", by.columns, "thread.y", "thread.x");
  std::vector<std::string> outer;
  for (const Axis& axis : axes) outer.push_back(axis.name);
  outer.back() = "tile";
  steps(FuseStep{launch, outer, "block"});
  steps(BindStep{launch, "block", ir::ThreadAxis::BlockX});
  steps(BindStep{launch, "thread.y", ir::ThreadAxis::ThreadY});
  steps(BindStep{launch, "thread.x", ir::ThreadAxis::ThreadX});
  in_vectors(steps, launch, "column", by.lanes);

  for (const std::string& name : shared) {
    share_parts(steps, name, launch, by);
    placed.insert(placed.end(), {name, name + ".local"});
  }
  const std::int64_t lanes = std::max(by.lanes, by.sum_lanes);
  if (sum != reduction) {
    steps(ComputeAtStep{sum, launch, "thread.x", ir::Scope::Register});
    reduce_alone(steps, sum, shared.empty() ? by.unroll : kMostUnrolled, lanes);
  }
  steps(ComputeAtStep{reduction, launch, "thread.x", ir::Scope::Register});
  const bool whole = sum == reduction && shared.empty();
  reduce_alone(steps, reduction, whole ? by.unroll : kMostUnrolled, by.lanes);
  return placed;
}

}  // namespace

std::optional<LongReduction> long_reduction(const ComputeDag& dag, const GpuTarget& target) {
  LongReduction out;
  out.dag = dag;
  for (const std::string& name : elementwise_stages(dag)) {
    if (out.dag.find(name)->store_at.empty() && !inline_stage(out.dag, name)) return std::nullopt;
  }
  out.output = out.dag.stages.back().name;
  if (!out.dag.stages.back().reduce_axes.empty()) {
    compute_apart(out.dag, out.output, out.output + ".sums");
  }
  const auto reduces = [&](const Stage& stage) {
    return !stage.reduce_axes.empty() && !is_constant(out.dag, stage);
  };
  const Stage* found = reduction_in_output(out.dag);
  if (!found || std::count_if(out.dag.stages.begin(), out.dag.stages.end(), reduces) != 1) {
    return std::nullopt;
  }
  out.reduction = found->name;
  out.length = product_of_extents(found->reduce_axes);
  out.results = product_of_extents(found->axes);
  // Beyond int32 no loop counts.
  if (out.length > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  if (out.length < kShortest || !leaves_threads_idle(out.results, target) ||
      is_matrix_product(out.dag, *found)) {
    return std::nullopt;
  }
  const Axis& inner = found->reduce_axes.back();
  out.along_results = is_contiguous(out.dag, *found, found->axes.back(), true);
  if (is_contiguous(out.dag, *found, inner, true)) out.contiguous = inner.extent;
  Stage& stage = out.dag.stages[std::size_t(index_of(out.dag, out.reduction))];
  if (stage.reduce_axes.size() > 1) {
    const FusedAxes one = fused_axes("r", stage.reduce_axes, out.length);
    stage.body = ir::substitute(stage.body, one.parts);
    stage.reduce_axes = {one.axis};
  }
  return out;
}

Sketch gpu_sums_sketch(const LongReduction& r, const GpuTarget& target) {
  const std::int64_t last = r.dag.find(r.output)->axes.back().extent, length = r.length,
                     most = std::min<std::int64_t>(kMostThreads, target.threads_per_block),
                     warp = target.warp, bytes = r.dag.find(r.reduction)->buffer->type.bytes();
  Sketch sketch{"gpu_sums", {}};
  auto& knobs = sketch.knobs;
  // Threads along the results; one where neighbours lie along the reduction.
  const bool alone = !r.along_results && r.contiguous > 0;
  knobs.push_back({"columns", powers(alone ? 1 : std::min(kMostColumns, last))});
  // Threads along the reduction, and blocks.
  knobs.push_back({"threads", powers(std::min(most, length))});
  knobs.push_back({"parts", powers(std::min(kMostParts, length / kShortest))});
  // Elements of a thread's part that are unrolled.
  knobs.push_back({"unroll", plain({1, 2, 4, 8})});
  const Options lanes = lanes_of(r, target);
  const bool vectors = lanes[0][0] > 1, along_results = r.along_results;
  if (vectors) knobs.push_back({"lanes", lanes});

  auto& constraints = sketch.constraints;
  constraints.push_back({"threads of a block", {"columns", "threads"}, [=](auto values) {
                           const std::int64_t threads = (*values[0])[0] * (*values[1])[0];
                           return warp <= threads && threads <= most;
                         }});
  std::vector<std::string> names{"columns", "threads", "parts"};
  if (vectors) names.push_back("lanes");
  const auto lanes_in = [=](auto values) { return vectors ? (*values[3])[0] : 1; };
  constraints.push_back({"something for each thread", names, [=](auto values) {
                           const std::int64_t lanes = lanes_in(values),
                                              part = (length - 1) / (*values[2])[0] + 1;
                           if (along_results && (*values[0])[0] * lanes > last) return false;
                           if (along_results) return (*values[1])[0] <= part;
                           return part % lanes == 0 && (*values[1])[0] * lanes <= part;
                         }});
  constraints.push_back(
      {"shared memory of a block", names, [=, shared = target.shared_bytes](auto values) {
         const std::int64_t parts = (*values[1])[0] + std::min((*values[1])[0], warp);
         return parts * (*values[0])[0] * lanes_in(values) * bytes + 128 <= shared;
       }});
  return sketch;
}

Result<Schedule> gpu_sums_schedule(const LongReduction& r, const GpuTarget& target,
                                   const SearchSpace& space, const Configuration& c) {
  const std::int64_t parts = space.value(c, "parts")[0], lanes = value_or(space, c, "lanes", 1);
  Sharing by;
  by.columns = space.value(c, "columns")[0], by.threads = space.value(c, "threads")[0];
  by.few = target.warp, by.unroll = space.value(c, "unroll")[0];
  (r.along_results ? by.lanes : by.sum_lanes) = lanes;
  Steps steps{Schedule(r.dag)};
  std::vector<std::string> placed;
  if (parts == 1) {
    placed = launch_reduction(steps, r.output, r.reduction, by);
  } else {
    const std::string over = steps.dag().find(r.reduction)->reduce_axes[0].name,
                      part = r.reduction + ".part";
    steps(RfactorStep{r.reduction, over, parts, "part", false, false});
    steps(CacheWriteStep{part});
    placed = launch_reduction(steps, part, part + ".local", by);
    Elements elements = plain_elements(target);
    const std::string at = launch_elements(steps, r.output, elements);
    steps(ComputeAtStep{r.reduction, r.output, at, ir::Scope::Register});
    reduce_in_registers(steps, r.reduction, elements, kMostUnrolled);
    placed.insert(placed.end(), {r.reduction, r.output});
  }
  launch_others(steps, placed, target, plain_elements(target));
  return steps.finish();
}

}  // namespace fettle::space
