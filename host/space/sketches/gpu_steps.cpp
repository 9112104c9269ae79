// Steps that sketches of GPUs share (gpu_steps.h).
#include "host/space/sketches/gpu_steps.h"

#include <algorithm>

#include "host/space/rewrite.h"

namespace fettle::space {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

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

std::string launch_elements(Steps& steps, const std::string& name, const Elements& elements) {
  const Stage stage = *steps.dag().find(name);
  const auto& axes = stage.axes;
  std::vector<std::string> outer, inner;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const std::size_t from_last = axes.size() - 1 - d;
    const std::int64_t wanted = from_last == 0 ? elements.last : from_last == 1 ? elements.rows : 1;
    const std::int64_t each = largest_power(std::min(wanted, axes[d].extent));
    const std::string& axis = axes[d].name;
    if (from_last == 0 || each > 1) {
      steps.split(name, axis, each, axis + ".outer", axis + ".each");
      outer.push_back(axis + ".outer"), inner.push_back(axis + ".each");
    } else {
      outer.push_back(axis);
    }
  }
  // One iteration, inside of the guard.
  const std::string once = inner.back() + ".once", last = inner.back() + ".element";
  const std::int64_t each = largest_power(std::min(elements.last, axes.back().extent));
  steps.split(name, inner.back(), each, once, last);
  inner.pop_back();
  for (const std::string& loop : inner) steps.unroll(name, {loop});
  for (std::string& loop : in_vectors(steps, name, last, std::min(elements.lanes, each))) {
    inner.push_back(std::move(loop));
  }
  std::vector<std::string> order = outer;
  order.push_back(once);
  order.insert(order.end(), inner.begin(), inner.end());
  steps(ReorderStep{name, order});
  steps(FuseStep{name, outer, "work"});
  steps(SplitStep{name, "work", elements.threads, "block", "thread", Tail::Guard});
  steps(BindStep{name, "block", ir::ThreadAxis::BlockX});
  steps(BindStep{name, "thread", ir::ThreadAxis::ThreadX});
  return once;
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
