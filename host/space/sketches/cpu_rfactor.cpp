// Knobs and schedule of the sketch with partial results (cpu_rfactor.h).
#include "host/space/sketches/cpu_rfactor.h"

#include <cmath>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/sketches/row_lanes.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

constexpr double kLeastOperations = 1024;

// What the sketch speaks of.
struct Shape {
  const Stage* reduction = nullptr;
  std::string lane_axis;         // a reduction axis that becomes lanes; empty: none
  std::int64_t lanes = 1;        // of a vector
  std::string part_axis;         // the reduction axis that tasks and chains share
  std::int64_t part_extent = 1;  // without the lanes
  std::string vector_axis;       // of the partial results: innermost
  std::int64_t vector_extent = 1;
  std::string row;  // the data axis before it; empty: there is none
  std::int64_t row_extent = 1;
};

Shape shape_of(const ComputeDag& dag, const CpuTarget& target) {
  Shape s;
  for (const Stage& stage : dag.stages) {
    if (!stage.reduce_axes.empty() && !s.reduction) s.reduction = &stage;
  }
  const Stage& r = *s.reduction;
  const std::int64_t widest = std::max(1, target.vector_bits / (8 * r.buffer->type.bytes()));
  s.vector_axis = r.axes.back().name;
  s.vector_extent = r.axes.back().extent;
  s.lanes = largest_power(std::min(widest, s.vector_extent));
  const Axis* row = r.axes.size() > 1 ? &r.axes[r.axes.size() - 2] : nullptr;
  const bool rows = reduces_rows(dag, r);
  for (const Axis& axis : r.reduce_axes) {
    const bool wide = s.vector_extent >= widest || axis.extent < widest;
    if (!rows && (wide || !is_contiguous(dag, r, axis, false))) continue;
    s.lane_axis = axis.name;
    s.vector_extent = rows ? row_lanes(axis.extent, target) : widest;
    s.lanes = std::min(widest, s.vector_extent);
    s.vector_axis = axis.name + ".lane";
    row = &r.axes.back();
  }
  if (row) s.row = row->name, s.row_extent = row->extent;
  for (const Axis& axis : r.reduce_axes) {
    const std::int64_t left = axis.name == s.lane_axis
                                  ? (axis.extent + s.vector_extent - 1) / s.vector_extent
                                  : axis.extent;
    if (s.part_axis.empty() || left > s.part_extent) s.part_axis = axis.name, s.part_extent = left;
  }
  return s;
}

// [chains, rows, vectors] of partial results that a task holds in registers.
Options register_tiles(const Shape& s, const CpuTarget& target) {
  Options tiles;
  for (const auto& chains : divisors(s.part_extent, 8)) {
    for (std::int64_t rows = 1; rows <= std::min<std::int64_t>(s.row_extent, 16); ++rows) {
      if (s.row_extent % rows != 0) continue;
      for (std::int64_t v = 1; v <= 8 && v * s.lanes <= s.vector_extent; v *= 2) {
        if (chains[0] * rows * v + 2 <= target.vector_registers) {
          tiles.push_back({chains[0], rows, v});
        }
      }
    }
  }
  return tiles;
}

// Parts for tasks: one, and what gives each thread one or two at least.
Options task_counts(const Shape& s, const CpuTarget& target) {
  Options counts;
  for (const auto& parts : divisors(s.part_extent, 64)) {
    const std::int64_t most = 4 * std::int64_t(target.threads);
    if (parts[0] == 1 || (parts[0] >= target.threads && parts[0] <= most)) counts.push_back(parts);
  }
  return counts;
}

}  // namespace

bool cpu_rfactor_fits(const ComputeDag& dag, const CpuTarget& target) {
  const Stage* sum = nullptr;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (sum || !stage.store_at.empty()) return false;
    sum = &stage;
  }
  if (!sum) return false;
  double elements = 1, operations = 1;
  for (const Axis& axis : sum->axes) elements *= double(axis.extent);
  for (const Axis& axis : sum->reduce_axes) operations *= double(axis.extent);
  if (reduces_rows(dag, *sum)) {
    // The lanes of a row are elements too: cpu_rows has work for each.
    const double lanes = double(row_lanes(sum->reduce_axes[0].extent, target));
    elements *= lanes, operations = std::ceil(operations / lanes);
  }
  const double lanes = target.vector_bits / (8.0 * sum->buffer->type.bytes());
  return elements < 8 * lanes * target.threads && elements * operations >= kLeastOperations;
}

Sketch cpu_rfactor_sketch(const ComputeDag& dag, const CpuTarget& target) {
  const Shape s = shape_of(dag, target);
  Sketch sketch{"cpu_rfactor", {}};
  sketch.knobs.push_back({"register_tile", register_tiles(s, target)});
  sketch.knobs.push_back({"tasks", task_counts(s, target)});
  // Most operations in the unrolled body.
  sketch.knobs.push_back({"unroll", plain({16, 64, 256})});
  return sketch;
}

namespace {

// The partial results, in registers while they are computed.
void schedule_parts(Steps& steps, const std::string& name, const Shape& s,
                    const std::vector<std::int64_t>& tile, std::int64_t most) {
  const Stage stage = *steps.dag().find(name);
  steps(CacheWriteStep{name});
  const std::string local = name + ".local", task = s.part_axis + ".task",
                    chain = s.part_axis + ".chain", v = s.vector_axis;
  std::vector<std::string> tasks{task}, inner{chain};
  for (std::size_t d = 2; d + 1 < stage.axes.size(); ++d) {
    const std::string& axis = stage.axes[d].name;
    if (axis != s.row) {
      tasks.push_back(axis);
      continue;
    }
    steps.split(name, axis, tile[1], axis + ".task", axis + ".reg");
    tasks.push_back(axis + ".task");
    inner.push_back(axis + ".reg");
  }
  steps.split(name, v, tile[2] * s.lanes, v + ".task", v + ".reg");
  steps.split(name, v + ".reg", s.lanes, v + ".vector", v + ".element");
  tasks.push_back(v + ".task");
  inner.push_back(v + ".vector");
  std::vector<std::string> order = tasks;
  order.insert(order.end(), inner.begin(), inner.end());
  order.push_back(v + ".element");
  steps(ReorderStep{name, order});
  steps.parallel(name, tasks);
  for (const std::string& loop : inner) steps.unroll(name, {loop});
  steps.vectorize(name, v + ".element");

  steps(ComputeAtStep{local, name, "task", ir::Scope::Register});
  steps.split(local, v, s.lanes, v + ".vector", v + ".element");
  std::int64_t body = tile[0] * tile[1] * tile[2];
  std::vector<std::string> sums;
  std::vector<std::pair<std::string, std::int64_t>> trips;
  for (const Axis& axis : stage.reduce_axes) {
    // The innermost loop is cut where all of it would be too long a body.
    std::int64_t some = 1;
    for (const auto& part : divisors(axis.extent, 32)) {
      if (body * part[0] <= most) some = part[0];
    }
    steps.split(local, axis.name, some, axis.name + ".outer", axis.name + ".inner");
    trips.emplace_back(axis.name + ".outer", axis.extent / some);
    trips.emplace_back(axis.name + ".inner", some);
  }
  for (const auto& [loop, extent] : trips) sums.push_back(loop);
  for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) sums.push_back(stage.axes[d].name);
  sums.push_back(v + ".vector");
  sums.push_back(v + ".element");
  steps(ReorderStep{local, sums});
  for (std::size_t i = trips.size(); i-- > 0;) {
    body *= trips[i].second;
    if (body > most) break;
    steps.unroll(local, {trips[i].first});
  }
  for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) {
    steps.unroll(local, {stage.axes[d].name});
  }
  steps.unroll(local, {v + ".vector"});
  steps.vectorize(local, v + ".element");
}

// The output, and what combines partial results for it.
void schedule_output(Steps& steps, const std::string& output, const Shape& s,
                     const std::vector<std::string>& combining) {
  const Stage last = *steps.dag().find(output);
  std::vector<std::string> tasks;
  for (const Axis& axis : last.axes) tasks.push_back(axis.name);
  const Axis& across = last.axes.back();
  if (s.lane_axis.empty() && across.extent == s.vector_extent) {
    steps.split(output, across.name, s.lanes, across.name + ".task", across.name + ".element");
    tasks.back() = across.name + ".task";
    steps.vectorize(output, across.name + ".element");
  }
  steps.parallel(output, tasks);
  for (const std::string& name : combining) {
    const Stage stage = *steps.dag().find(name);
    steps(ComputeAtStep{name, output, "task", ir::Scope::Register});
    std::vector<std::string> order, unrolled;
    for (const Axis& axis : stage.reduce_axes) order.push_back(axis.name);
    for (const Axis& axis : stage.axes) order.push_back(axis.name);
    unrolled = order;
    if (stage.axes.back().name == s.vector_axis) {
      steps.split(name, s.vector_axis, s.lanes, s.vector_axis + ".vector",
                  s.vector_axis + ".element");
      order.back() = unrolled.back() = s.vector_axis + ".vector";
      order.push_back(s.vector_axis + ".element");
      steps.vectorize(name, order.back());
    }
    steps(ReorderStep{name, order});
    for (const std::string& loop : unrolled) steps.unroll(name, {loop});
  }
}

// Constants that the lanes would read with strides: the axis that follows them, by name.
std::vector<TransposeConstantStep> transposed(const ComputeDag& dag, const Shape& s) {
  std::vector<TransposeConstantStep> out;
  if (s.lane_axis.empty()) return out;
  const auto& axes = s.reduction->reduce_axes;
  const ir::Var lane = std::find_if(axes.begin(), axes.end(), [&](const Axis& axis) {
                         return axis.name == s.lane_axis;
                       })->var;
  ir::walk(s.reduction->body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    const Stage* constant = load ? dag.find(load->buffer) : nullptr;
    if (!constant || constant->role != ir::Role::Constant) return;
    for (std::size_t d = 0; d + 1 < load->indices.size(); ++d) {
      if (ir::mentions(load->indices[d], lane)) {
        out.push_back({constant->name, constant->axes[d].name});
        return;
      }
    }
  });
  return out;
}

}  // namespace

Result<Schedule> cpu_rfactor_schedule(Schedule begun, const CpuTarget& target,
                                      const SearchSpace& space, const Configuration& c) {
  const ComputeDag& dag = begun.dag();
  const Shape s = shape_of(dag, target);
  const auto& tile = space.value(c, "register_tile");
  const auto number = [&](const char* knob) { return space.value(c, knob)[0]; };
  const std::string output = dag.stages.back().name;
  const std::vector<TransposeConstantStep> constants = transposed(dag, s);
  std::vector<std::string> inlined, combining;
  for (const Stage& stage : dag.stages) {
    if (stage.placeholder()) continue;
    const bool last = stage.role == ir::Role::Output;
    if (stage.reduce_axes.empty() && !last) inlined.push_back(stage.name);
    // In the end the output's own reduction is beside it.
    if (!stage.reduce_axes.empty()) combining.push_back(last ? output + ".local" : stage.name);
  }

  Steps steps(std::move(begun));
  for (const std::string& stage : inlined) steps(InlineStep{stage});
  if (!steps.dag().find(output)->reduce_axes.empty()) steps(CacheWriteStep{output});
  for (const TransposeConstantStep& constant : constants) steps(constant);
  std::string parts = combining.front();
  if (!s.lane_axis.empty()) {
    steps(RfactorStep{parts, s.lane_axis, s.vector_extent, "lane", true, true});
    parts += ".lane";
    combining.push_back(parts);
  }
  steps(RfactorStep{parts, s.part_axis, tile[0], "chain", true, false});
  parts += ".chain";
  combining.push_back(parts);
  // What divides the rest, so that no element needs a condition.
  std::int64_t tasks = number("tasks");
  while (s.part_extent / tile[0] % tasks != 0) --tasks;
  steps(RfactorStep{parts, s.part_axis, tasks, "task", false, false});
  parts += ".task";

  schedule_output(steps, output, s, combining);
  schedule_parts(steps, parts, s, tile, number("unroll"));
  for (const TransposeConstantStep& constant : constants) {
    const std::string copy = constant.constant + ".transposed";
    steps.parallel(copy, {Stage(*steps.dag().find(copy)).axes.front().name});
  }
  return steps.finish();
}

}  // namespace fettle::space
