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
  steps.split(name, inner.back(), largest_power(std::min(elements.last, axes.back().extent)), once,
              last);
  inner.back() = last;
  std::vector<std::string> order = outer;
  order.push_back(once);
  order.insert(order.end(), inner.begin(), inner.end());
  steps(ReorderStep{name, order});
  steps(FuseStep{name, outer, "work"});
  steps(SplitStep{name, "work", elements.threads, "block", "thread", Tail::Guard});
  steps(BindStep{name, "block", ir::ThreadAxis::BlockX});
  steps(BindStep{name, "thread", ir::ThreadAxis::ThreadX});
  for (const std::string& loop : inner) steps.unroll(name, {loop});
  return once;
}

void reduce_in_registers(Steps& steps, const std::string& name, std::int64_t elements,
                         std::int64_t most) {
  const Stage stage = *steps.dag().find(name);
  std::vector<std::string> order;
  for (const Axis& axis : stage.reduce_axes) order.push_back(axis.name);
  for (const Axis& axis : stage.axes) {
    order.push_back(axis.name);
    steps.unroll(name, {axis.name});
  }
  steps(ReorderStep{name, order});
  std::int64_t operations = elements;
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
    reduce_in_registers(steps, sums, fitting.last * fitting.rows, unroll);
  }
}

}  // namespace fettle::space
