// The table of sketches (sketches.h).
#include "host/space/sketches/sketches.h"

#include "host/ir/loads.h"
#include "host/space/sketches/cpu_rfactor.h"
#include "host/space/sketches/cpu_rows.h"
#include "host/space/sketches/cpu_spatial.h"
#include "host/space/sketches/cpu_tiled.h"
#include "host/space/sketches/cpu_winograd.h"

namespace fettle::space {

namespace {

// A sum of products with a constant, where the constant alone depends on the last
// axis, and on no other axis that is not reduced: worth packing, as each element of
// it is used for every row of the output.
bool reuses_a_constant(const ComputeDag& dag) {
  const Stage* reduction = nullptr;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (reduction) return false;
    reduction = &stage;
  }
  const auto factors = reduction ? factors_of(dag, *reduction) : std::nullopt;
  if (!factors) return false;
  const auto& axes = reduction->axes;
  if (axes.size() != 2 && axes.size() != 4) return false;
  bool packable = true;
  for (const ir::Load* load : {factors->data, factors->constant}) {
    const bool constant = load == factors->constant;
    for (std::size_t d = 0; d < load->indices.size(); ++d) {
      for (const Axis& axis : axes) {
        const bool last = axis.var == axes.back().var;
        const bool wanted = constant && last && d + 1 == load->indices.size();
        if (constant || last) packable &= ir::mentions(load->indices[d], axis.var) == wanted;
      }
    }
  }
  return packable;
}

struct Row {
  bool (*applies)(const ComputeDag& dag, const Target& target);
  Sketch (*sketch)(const ComputeDag& dag, const Target& target);
  Result<Schedule> (*schedule)(Schedule begun, const Target& target, const SearchSpace& space,
                               const Configuration& configuration);
  double (*error_growth)();
  bool wants_channels_last = false;  // made for sums over channels that lie last
};

template <int y, int x>
constexpr Row winograd_row() {
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
          [] { return WinogradTile{y, x}.error_growth(); }, true};
}

// A workload's sketches are the rows that apply, in this order; then those that apply once its
// channels lie last.
const Row kRows[] = {
    {[](const ComputeDag& dag, const Target&) { return reuses_a_constant(dag); }, cpu_tiled_sketch,
     cpu_tiled_schedule, [] { return 1.0; }, true},
    winograd_row<2, 2>(),
    winograd_row<4, 2>(),
    winograd_row<4, 4>(),
    {[](const ComputeDag& dag, const Target&) {
       return !reuses_a_constant(dag) && cpu_spatial_fits(dag);
     },
     cpu_spatial_sketch, cpu_spatial_schedule, [] { return 1.0; }},
    {[](const ComputeDag& dag, const Target&) {
       return !cpu_spatial_fits(dag) && cpu_rows_fits(dag);
     },
     cpu_rows_sketch, cpu_rows_schedule, [] { return 1.0; }},
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

// A row that applies, and the schedule that it goes on with.
struct Applied {
  const Row* row;
  Schedule begun;
};

std::vector<Applied> rows_for(const ComputeDag& dag, const Target& target) {
  std::vector<Applied> rows;
  for (const Row& row : kRows) {
    if (row.applies(dag, target)) rows.push_back({&row, Schedule(dag)});
  }
  const auto last = with_channels_last(dag);
  for (const Row& row : kRows) {
    if (last && row.wants_channels_last && row.applies(last->dag(), target)) {
      rows.push_back({&row, *last});
    }
  }
  return rows;
}

Sketch sketch_of(const Applied& applied, const Target& target) {
  Sketch sketch = applied.row->sketch(applied.begun.dag(), target);
  if (!applied.begun.steps().empty()) sketch.name += "_channels_last";
  return sketch;
}

Error no_sketch(const Workload& workload, const Target& target) {
  return {ErrorCode::Unsupported,
          "no sketch of " + workload.op() + " for back end " + target.backend};
}

// Nothing: the target may have sketches.
std::optional<Error> refusal_of(const Workload& workload, const Target& target) {
  if (target.backend != "cpu_llvm") return no_sketch(workload, target);
  if (workload.scalar() == ir::Scalar::Float16 && !target.converts_float16()) {
    return Error{ErrorCode::Unsupported,
                 "this CPU has no instructions for float16 (x86-64: f16c; ARMv7: fp16 of VFP)"};
  }
  return std::nullopt;
}

}  // namespace

Result<SearchSpace> make_space(const Workload& workload, const Target& target) {
  if (auto refusal = refusal_of(workload, target)) return std::move(*refusal);
  const ComputeDag dag = make_dag(workload);
  std::vector<Sketch> sketches;
  for (const Applied& row : rows_for(dag, target)) sketches.push_back(sketch_of(row, target));
  if (sketches.empty()) return no_sketch(workload, target);
  return SearchSpace(std::move(sketches));
}

// Called for each candidate of a search: makes the knobs of one sketch, not of all.
Result<Schedule> schedule_for(const Workload& workload, const Target& target,
                              const Configuration& configuration) {
  if (auto refusal = refusal_of(workload, target)) return std::move(*refusal);
  auto rows = rows_for(make_dag(workload), target);
  if (rows.empty()) return no_sketch(workload, target);
  const Error outside{ErrorCode::InvalidArgument,
                      "the configuration is no point of the space of " + workload.title()};
  if (configuration.sketch >= rows.size()) return outside;
  Applied& applied = rows[configuration.sketch];
  const SearchSpace space({sketch_of(applied, target)});
  const auto& knobs = space.sketches()[0].knobs;
  if (configuration.choice.size() != knobs.size()) return outside;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (configuration.choice[k] >= knobs[k].options.size()) return outside;
  }
  return applied.row->schedule(std::move(applied.begun), target, space, {0, configuration.choice});
}

double error_growth(const Workload& workload, const Target& target,
                    const Configuration& configuration) {
  const auto rows = rows_for(make_dag(workload), target);
  return configuration.sketch < rows.size() ? rows[configuration.sketch].row->error_growth() : 1;
}

}  // namespace fettle::space
