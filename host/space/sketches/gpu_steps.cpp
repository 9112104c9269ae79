// Steps that sketches of GPUs share (gpu_steps.h).
#include "host/space/sketches/gpu_steps.h"

#include <algorithm>

#include "host/ir/mutator.h"
#include "host/space/axis_roles.h"
#include "host/space/rewrite.h"

namespace fettle::space {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::int64_t kWarpsPerUnit = 64;  // that a compute unit holds

}  // namespace

bool leaves_threads_idle(std::int64_t results, const GpuTarget& target) {
  return results < kWarpsPerUnit * target.warp * target.compute_units;
}

const Stage* reduction_in_output(const ComputeDag& dag) {
  const Stage& output = dag.stages.back();
  const Stage* found = nullptr;
  bool own = true;
  ir::walk(output.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    const Stage* read = load ? dag.find(load->buffer) : nullptr;
    if (!read || read->reduce_axes.empty()) return;
    own &= !found || found == read;
    found = read;
    own &= load->indices.size() == output.axes.size();
    for (std::size_t d = 0; own && d < load->indices.size(); ++d) {
      own = sole_axis(output, load->indices[d]) == &output.axes[d] &&
            output.axes[d].extent == read->axes[d].extent;
    }
  });
  const bool alone = found && own && found->store_at.empty() && !is_constant(dag, *found) &&
                     readers_of(dag, found->buffer).size() == 1;
  return alone ? found : nullptr;
}

std::int64_t value_or(const SearchSpace& space, const Configuration& c, const char* knob,
                      std::int64_t fallback) {
  const auto& knobs = space.sketches()[c.sketch].knobs;
  const bool there =
      std::any_of(knobs.begin(), knobs.end(), [&](const Knob& each) { return each.name == knob; });
  return there ? space.value(c, knob)[0] : fallback;
}

Options lanes_within(std::int64_t extent, const GpuTarget& target) {
  const std::int64_t widest =
      largest_power(std::min<std::int64_t>(target.vector_width, std::max<std::int64_t>(extent, 1)));
  Options out{{widest}};
  if (widest > 2) out.push_back({widest / 2});
  return out;
}

Elements plain_elements(const GpuTarget& target) {
  Elements elements;
  elements.threads = std::min<std::int64_t>(elements.threads, target.threads_per_block);
  elements.last = elements.lanes = largest_power(target.vector_width);
  return elements;
}

std::vector<std::string> in_vectors(Steps& steps, const std::string& stage, const std::string& loop,
                                    std::int64_t lanes) {
  if (lanes <= 1) {
    steps.unroll(stage, {loop});
    return {loop};
  }
  const std::string vector = loop + ".vector", lane = loop + ".lane";
  steps.split(stage, loop, lanes, vector, lane);
  steps.unroll(stage, {vector});
  steps.vectorize(stage, lane);
  return {vector, lane};
}

void inline_elementwise(Steps& steps, const std::vector<std::string>& kept) {
  for (const std::string& name : elementwise_stages(steps.dag())) {
    const Stage& stage = *steps.dag().find(name);
    if (is_among(kept, name) || !stage.store_at.empty()) continue;
    steps(InlineStep{name});
  }
}

void load_together(Steps& steps, const std::string& stage, const std::vector<std::string>& loops,
                   std::int64_t x, std::int64_t y) {
  steps(FuseStep{stage, loops, "element"});
  steps(SplitStep{stage, "element", x * y, "round", "thread", Tail::Guard});
  steps(SplitStep{stage, "thread", x, "thread.y", "thread.x"});
  steps(BindStep{stage, "thread.y", ir::ThreadAxis::ThreadY});
  steps(BindStep{stage, "thread.x", ir::ThreadAxis::ThreadX});
}

std::string launch_loops(Steps& steps, const std::string& name, const Elements& elements,
                         std::vector<std::string> shared, std::vector<std::string> whole) {
  const Axis last = steps.dag().find(name)->axes.back();
  const std::int64_t each = largest_power(std::min(elements.last, last.extent));
  const std::string outer = last.name + ".outer", rest = last.name + ".each";
  steps.split(name, last.name, each, outer, rest);
  shared.push_back(outer);
  // One iteration, inside of the guard.
  const std::string once = rest + ".once", element = rest + ".element";
  steps.split(name, rest, each, once, element);
  for (const std::string& loop : whole) steps.unroll(name, {loop});
  for (std::string& loop : in_vectors(steps, name, element, std::min(elements.lanes, each))) {
    whole.push_back(std::move(loop));
  }
  std::vector<std::string> order = shared;
  order.push_back(once);
  order.insert(order.end(), whole.begin(), whole.end());
  steps(ReorderStep{name, order});
  steps(FuseStep{name, shared, "work"});
  steps(SplitStep{name, "work", elements.threads, "block", "thread", Tail::Guard});
  steps(BindStep{name, "block", ir::ThreadAxis::BlockX});
  steps(BindStep{name, "thread", ir::ThreadAxis::ThreadX});
  return once;
}

std::string launch_elements(Steps& steps, const std::string& name, const Elements& elements,
                            const std::vector<std::string>& whole) {
  const std::vector<Axis> axes = steps.dag().find(name)->axes;
  std::vector<std::string> shared, own = whole;
  for (std::size_t d = 0; d + 1 < axes.size(); ++d) {
    const std::string& axis = axes[d].name;
    if (is_among(whole, axis)) continue;
    const std::int64_t wanted = d + 2 == axes.size() ? elements.rows : 1,
                       each = largest_power(std::min(wanted, axes[d].extent));
    if (each > 1) steps.split(name, axis, each, axis + ".outer", axis + ".each");
    shared.push_back(each > 1 ? axis + ".outer" : axis);
    if (each > 1) own.push_back(axis + ".each");
  }
  return launch_loops(steps, name, elements, std::move(shared), std::move(own));
}

void reduce_in_registers(Steps& steps, const std::string& name, const Elements& elements,
                         std::int64_t most) {
  const Stage stage = *steps.dag().find(name);
  std::vector<std::string> order;
  for (const Axis& axis : stage.reduce_axes) order.push_back(axis.name);
  for (const Axis& axis : stage.axes) {
    if (&axis == &stage.axes.back()) break;
    order.push_back(axis.name);
    steps.unroll(name, {axis.name});
  }
  const std::int64_t each = largest_power(std::min(elements.last, stage.axes.back().extent));
  const std::int64_t lanes = std::min(elements.lanes, each);
  for (std::string& loop : in_vectors(steps, name, stage.axes.back().name, lanes)) {
    order.push_back(std::move(loop));
  }
  steps(ReorderStep{name, order});
  std::int64_t operations = each / lanes * elements.rows;
  for (auto axis = stage.reduce_axes.rbegin(); axis != stage.reduce_axes.rend(); ++axis) {
    operations *= axis->extent;
    if (operations > most) break;
    steps.unroll(name, {axis->name});
  }
}

void launch_others(Steps& steps, const std::vector<std::string>& placed, const GpuTarget& target,
                   const Elements& elements, std::int64_t unroll) {
  Elements fitting = elements;
  fitting.threads = std::min<std::int64_t>(fitting.threads, target.threads_per_block);
  const ComputeDag dag = steps.dag();
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder() || is_among(placed, stage.name)) continue;
    if (stage.reduce_axes.empty()) {
      launch_elements(steps, stage.name, fitting);
      continue;
    }
    steps(CacheWriteStep{stage.name});
    const std::string sums = stage.name + ".local";
    const std::string at = launch_elements(steps, stage.name, fitting);
    steps(ComputeAtStep{sums, stage.name, at, ir::Scope::Register});
    reduce_in_registers(steps, sums, fitting, unroll);
  }
}

}  // namespace fettle::space
