// The table of sketches (sketches.h).
#include "host/space/sketches/sketches.h"

#include <algorithm>

#include "host/space/sketches/cpu_rfactor.h"
#include "host/space/sketches/cpu_rows.h"
#include "host/space/sketches/cpu_spatial.h"
#include "host/space/sketches/cpu_tiled.h"
#include "host/space/sketches/cpu_winograd.h"

namespace fettle::space {

namespace {

template <int y, int x>
constexpr SketchRow winograd_row() {
  return {[](const ComputeDag& dag, const Target& target) {
            return winograd_applies(dag, target, {y, x});
          },
          [](const ComputeDag& dag, const Target& target) {
            return cpu_winograd_sketch(dag, target, {y, x});
          },
          [](Schedule begun, const Target& target, const SearchSpace& space,
             const Configuration& configuration) {
            return cpu_winograd_schedule(std::move(begun), target, space, configuration, {y, x});
          },
          [] {
            return WinogradTile{y, x}.error_growth();
          },
          true};
}

// A workload's sketches are the rows that apply, in this order; then those that apply once its
// channels lie last.
const SketchRow kRows[] = {
    {[](const ComputeDag& dag, const Target&) { return cpu_tiled_fits(dag); }, cpu_tiled_sketch,
     cpu_tiled_schedule, [] { return 1.0; }, true},
    {cpu_tiled_groups_fits, cpu_tiled_groups_sketch, cpu_tiled_groups_schedule, [] { return 1.0; }},
    winograd_row<2, 2>(),
    winograd_row<4, 2>(),
    winograd_row<4, 4>(),
    {[](const ComputeDag& dag, const Target&) {
       return !only_cpu_tiled_fits(dag) && !cpu_rows_fits(dag) && cpu_spatial_fits(dag);
     },
     cpu_spatial_sketch, cpu_spatial_schedule, [] { return 1.0; }},
    {[](const ComputeDag& dag, const Target&) { return cpu_rows_fits(dag); }, cpu_rows_sketch,
     cpu_rows_schedule, [] { return 1.0; }},
    {cpu_rfactor_fits, cpu_rfactor_sketch, cpu_rfactor_schedule, [] { return 1.0; }},
};

// The schedule that brings the DAG's one sum to channels last; nothing: there is no such sum.
std::optional<Schedule> with_channels_last(const ComputeDag& dag) {
  Schedule schedule(dag);
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (!schedule.apply(ChannelsLastStep{stage.name})) return std::nullopt;
    return schedule;
  }
  return std::nullopt;
}

std::vector<TaskSpace::Entry> entries_for(const ComputeDag& dag, const Target& target) {
  std::vector<TaskSpace::Entry> entries;
  for (const SketchRow& row : kRows) {
    if (row.applies(dag, target)) entries.push_back({&row, Schedule(dag)});
  }
  const auto last = with_channels_last(dag);
  for (const SketchRow& row : kRows) {
    if (last && row.wants_channels_last && row.applies(last->dag(), target)) {
      entries.push_back({&row, *last});
    }
  }
  return entries;
}

Sketch sketch_of(const TaskSpace::Entry& entry, const Target& target) {
  Sketch sketch = entry.row->sketch(entry.begun.dag(), target);
  if (!entry.begun.steps().empty()) sketch.name += "_channels_last";
  return sketch;
}

bool holds_float16(const ComputeDag& dag) {
  return std::any_of(dag.stages.begin(), dag.stages.end(), [](const Stage& stage) {
    return stage.buffer->type.scalar == ir::Scalar::Float16;
  });
}

}  // namespace

Result<TaskSpace> open_cpu_space(ComputeDag dag, const Target& target) {
  if (holds_float16(dag) && !target.converts_float16()) {
    return Error{ErrorCode::Unsupported,
                 "this CPU has no instructions for float16 (x86-64: f16c; ARMv7: fp16 of VFP)"};
  }
  std::vector<TaskSpace::Entry> entries = entries_for(dag, target);
  if (entries.empty()) {
    return Error{ErrorCode::Unsupported, "no sketch of the back end " + target.backend + " fits"};
  }
  std::vector<Sketch> sketches;
  for (const TaskSpace::Entry& entry : entries) sketches.push_back(sketch_of(entry, target));
  return TaskSpace(std::move(dag), target, std::move(entries), std::move(sketches));
}

}  // namespace fettle::space
