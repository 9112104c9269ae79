// The table of sketches (sketches.h).
#include "host/space/sketches/sketches.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "host/space/sketches/cpu_rfactor.h"
#include "host/space/sketches/cpu_rows.h"
#include "host/space/sketches/cpu_spatial.h"
#include "host/space/sketches/cpu_tiled.h"
#include "host/space/sketches/cpu_winograd.h"

namespace fettle::space {

namespace {

// One kind of sketch.
struct SketchRow {
  bool (*applies)(const Alternative& alternative, const CpuTarget& target);
  Sketch (*sketch)(const Alternative& alternative, const CpuTarget& target);
  Result<Schedule> (*schedule)(const Alternative& alternative, const CpuTarget& target,
                               const SearchSpace& space, const Configuration& configuration);
};

// A sketch of a DAG, whatever algorithm made it.
template <auto applies, auto sketch, auto schedule>
constexpr SketchRow row_of() {
  return {[](const Alternative& a, const CpuTarget& target) {
            if constexpr (std::is_invocable_v<decltype(applies), const ComputeDag&>) {
              return applies(a.dag);
            } else {
              return applies(a.dag, target);
            }
          },
          [](const Alternative& a, const CpuTarget& target) { return sketch(a.dag, target); },
          [](const Alternative& a, const CpuTarget& target, const SearchSpace& space,
             const Configuration& configuration) {
            return schedule(Schedule(a.dag), target, space, configuration);
          }};
}

bool only_cpu_spatial_fits(const ComputeDag& dag) {
  return !only_cpu_tiled_fits(dag) && !cpu_rows_fits(dag) && cpu_spatial_fits(dag);
}

// Which algorithms a sketch is for: the first of these that the DAG has.
struct Rule {
  SketchRow row;
  std::vector<Algorithm> algorithms;
  bool channels_last = false;  // also once the channels lie last
};

// A DAG's sketches are the rows that apply, in this order; then those that apply once its
// channels lie last.
const Rule kRules[] = {
    {row_of<cpu_tiled_fits, cpu_tiled_sketch, cpu_tiled_schedule>(),
     {Algorithm::DotProduct, Algorithm::Direct},
     true},
    {row_of<cpu_tiled_groups_fits, cpu_tiled_groups_sketch, cpu_tiled_groups_schedule>(),
     {Algorithm::DotProduct, Algorithm::Direct}},
    {{[](const Alternative&, const CpuTarget&) { return true; }, cpu_winograd_sketch,
      cpu_winograd_schedule},
     {Algorithm::Winograd},
     true},
    {row_of<only_cpu_spatial_fits, cpu_spatial_sketch, cpu_spatial_schedule>(),
     {Algorithm::Direct}},
    {row_of<cpu_rows_fits, cpu_rows_sketch, cpu_rows_schedule>(), {Algorithm::Direct}},
    {row_of<cpu_rfactor_fits, cpu_rfactor_sketch, cpu_rfactor_schedule>(), {Algorithm::Direct}},
};

using Alternatives = std::vector<std::shared_ptr<const Alternative>>;

// Those that the rule's sketch applies to.
Alternatives chosen_by(const Rule& rule, const Alternatives& all, const CpuTarget& target,
                       bool channels_last) {
  Alternatives chosen;
  for (const Algorithm algorithm : rule.algorithms) {
    for (const auto& a : all) {
      if (a->algorithm == algorithm && a->channels_last == channels_last &&
          rule.row.applies(*a, target)) {
        chosen.push_back(a);
      }
    }
    if (!chosen.empty()) break;
  }
  return chosen;
}

TaskSpace::Entry entry_of(const SketchRow& row, std::shared_ptr<const Alternative> alternative,
                          std::shared_ptr<const CpuTarget> target) {
  TaskSpace::Entry entry;
  entry.sketch = row.sketch(*alternative, *target);
  if (alternative->channels_last) entry.sketch.name += "_channels_last";
  entry.error_growth = alternative->error_growth;
  entry.schedule = [schedule = row.schedule, alternative = std::move(alternative),
                    target = std::move(target)](const SearchSpace& space,
                                                const Configuration& configuration) {
    return schedule(*alternative, *target, space, configuration);
  };
  return entry;
}

// What of a CPU decides which algorithms are worth trying on it.
AlgorithmFacts facts_of(const CpuTarget& target) {
  AlgorithmFacts facts;
  facts.byte_products = target.sums_of_byte_products();
  for (const CacheLevel& level : target.caches) {
    facts.last_cache_bytes = std::max(facts.last_cache_bytes, level.bytes);
  }
  return facts;
}

std::vector<TaskSpace::Entry> entries_for(const ComputeDag& dag, const CpuTarget& target) {
  Alternatives all;
  for (Alternative& a : alternatives_of(dag, facts_of(target))) {
    all.push_back(std::make_shared<const Alternative>(std::move(a)));
  }
  const auto shared = std::make_shared<const CpuTarget>(target);
  std::vector<TaskSpace::Entry> entries;
  for (const bool last : {false, true}) {
    for (const Rule& rule : kRules) {
      if (last && !rule.channels_last) continue;
      for (const auto& a : chosen_by(rule, all, target, last)) {
        entries.push_back(entry_of(rule.row, a, shared));
      }
    }
  }
  return entries;
}

std::vector<OwnCpuSketch>& own_sketches() {
  static std::vector<OwnCpuSketch> sketches;
  return sketches;
}

// Configurations go by the names of sketches and knobs, and take an option of each knob.
Result<void> check_own(const Sketch& sketch, const std::vector<TaskSpace::Entry>& others) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::InvalidArgument, "the sketch \"" + sketch.name + "\" " + what};
  };
  if (sketch.name.empty()) return Error{ErrorCode::InvalidArgument, "a sketch has no name"};
  for (const TaskSpace::Entry& other : others) {
    if (other.sketch.name == sketch.name) return bad("has the name of another sketch");
  }
  std::set<std::string> names;
  for (const Knob& knob : sketch.knobs) {
    if (knob.name.empty()) return bad("has a knob without a name");
    if (!names.insert(knob.name).second) return bad("has two knobs \"" + knob.name + "\"");
    if (knob.options.empty()) return bad("has a knob without options: \"" + knob.name + "\"");
  }
  return {};
}

Result<void> append_own(const ComputeDag& dag, const CpuTarget& target,
                        std::vector<TaskSpace::Entry>& entries) {
  for (const OwnCpuSketch& own : own_sketches()) {
    if (!own.applies(dag, target)) continue;
    auto sketch = own.sketch(dag, target);
    if (!sketch) return std::move(sketch).error();
    if (auto sound = check_own(*sketch, entries); !sound) return sound;
    TaskSpace::Entry entry;
    entry.sketch = std::move(*sketch);
    entry.schedule = [schedule = own.schedule, dag, target](const SearchSpace& space,
                                                            const Configuration& configuration) {
      return schedule(Schedule(dag), target, space, configuration);
    };
    entries.push_back(std::move(entry));
  }
  return {};
}

bool holds_float16(const ComputeDag& dag) {
  return std::any_of(dag.stages.begin(), dag.stages.end(), [](const Stage& stage) {
    return stage.buffer->type.scalar == ir::Scalar::Float16;
  });
}

}  // namespace

void add_cpu_sketch(OwnCpuSketch sketch) { own_sketches().push_back(std::move(sketch)); }

Result<CpuSpace> open_cpu_space(ComputeDag dag, const CpuTarget& target) {
  if (holds_float16(dag) && !target.converts_float16()) {
    return Error{ErrorCode::Unsupported,
                 "this CPU has no instructions for float16 (x86-64: f16c; ARMv7: fp16 of VFP)"};
  }
  std::vector<TaskSpace::Entry> entries = entries_for(dag, target);
  if (auto own = append_own(dag, target, entries); !own) return std::move(own).error();
  if (entries.empty()) return Error{ErrorCode::Unsupported, "no sketch of a CPU fits"};
  return CpuSpace(TaskSpace(std::move(dag), std::move(entries)), target);
}

}  // namespace fettle::space
