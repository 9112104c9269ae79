// Knobs and schedule of the sketch for rows (cpu_rows.h).
#include "host/space/sketches/cpu_rows.h"

#include <algorithm>
#include <numeric>

#include "host/ir/mutator.h"
#include "host/space/sketches/row_lanes.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

// Values of a whole row that stages after it read.
std::vector<std::string> intermediate_rows(const ComputeDag& dag) {
  std::vector<std::string> names;
  for (const Stage& stage : dag.stages) {
    const bool inner = !stage.placeholder() && stage.role != ir::Role::Output;
    if (inner && stage.reduce_axes.empty() && stage.axes.size() == 2) names.push_back(stage.name);
  }
  return names;
}

// A row is read behind a condition: by the DAG, or where lanes end beyond it.
bool reads_guarded(const ComputeDag& dag, const CpuTarget& target) {
  bool guarded = false;
  for (const Stage& stage : dag.stages) {
    for (const Axis& axis : stage.reduce_axes) {
      guarded |= axis.extent % row_lanes(axis.extent, target) != 0;
    }
    if (!stage.body) continue;
    ir::walk(stage.body, [&](const ir::Expr& e) {
      const auto* load = std::get_if<ir::Load>(&e->node);
      guarded |= load && load->predicate;
    });
  }
  return guarded;
}

// Tail stages are read once: computing them early gains nothing.
bool read_twice(const ComputeDag& dag, const std::string& name) {
  int readers = 0;
  for (const Stage& stage : dag.stages) {
    bool reads = false;
    if (stage.body) {
      ir::walk(stage.body, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->node);
        reads |= load && load->buffer == dag.find(name)->buffer;
      });
    }
    readers += reads;
  }
  return readers > 1;
}

std::int64_t lanes_within(std::int64_t extent, const CpuTarget& target) {
  return largest_power(std::min<std::int64_t>(extent, std::max(1, target.vector_bits / 32)));
}

// Loops of a stage with partial results: its reduction outermost, cut into `inner` steps that
// are unrolled.
void schedule_partial(Steps& steps, const Stage& stage, std::int64_t inner) {
  const std::string &across = stage.axes.back().name, &k = stage.reduce_axes[0].name;
  steps.split(stage.name, k, inner, k + ".outer", k + ".inner");
  std::vector<std::string> order{k + ".outer", k + ".inner"};
  for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) order.push_back(stage.axes[d].name);
  order.push_back(across + ".vector");
  order.push_back(across + ".lane");
  steps(ReorderStep{stage.name, order});
  for (std::size_t i = 1; i + 1 < order.size(); ++i) steps.unroll(stage.name, {order[i]});
}

}  // namespace

bool cpu_rows_fits(const ComputeDag& dag) {
  int reductions = 0;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (!reduces_rows(dag, stage)) return false;
    ++reductions;
  }
  return reductions > 0 && dag.stages.back().axes.size() <= 2;
}

Sketch cpu_rows_sketch(const ComputeDag& dag, const CpuTarget& target) {
  const Stage& output = dag.stages.back();
  Sketch sketch{"cpu_rows", {}};
  auto& knobs = sketch.knobs;
  Options rows;
  for (std::int64_t n = 1; n <= 64 && n <= output.axes[0].extent; n *= 4) rows.push_back({n});
  knobs.push_back({"task_rows", rows});
  if (output.axes.size() > 1) {
    const std::int64_t length = output.axes[1].extent, lanes = lanes_within(length, target);
    Options vectors;
    for (std::int64_t v = 1; v <= 8 && v * lanes <= length; v *= 2) vectors.push_back({v});
    knobs.push_back({"vectors", vectors});
  }
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    const std::int64_t length = stage.reduce_axes[0].extent, lanes = row_lanes(length, target),
                       rounds = (length + lanes - 1) / lanes;
    // Steps of the reductions' loops that are unrolled.
    knobs.push_back({"reduce_inner", divisors(rounds, 8)});
    // Groups of lanes side by side, for additions wait for each other.
    knobs.push_back({"chains", divisors(rounds, 4), 0});
    break;
  }
  bool worth = false;
  for (const std::string& stage : intermediate_rows(dag)) worth |= read_twice(dag, stage);
  // 0: intermediate values are computed where they are read, 1: kept for the row.
  if (worth && !reads_guarded(dag, target)) knobs.push_back({"keep", plain({0, 1})});
  return sketch;
}

Result<Schedule> cpu_rows_schedule(Schedule begun, const CpuTarget& target,
                                   const SearchSpace& space, const Configuration& c) {
  const ComputeDag& dag = begun.dag();
  const auto& knobs = space.sketches()[c.sketch].knobs;
  const auto number = [&](const char* knob) { return space.value(c, knob)[0]; };
  bool keep = false;
  for (const Knob& knob : knobs) keep |= knob.name == "keep" && number("keep") == 1;
  std::vector<std::string> kept, inlined;
  for (const std::string& stage : intermediate_rows(dag)) {
    (keep && read_twice(dag, stage) ? kept : inlined).push_back(stage);
  }
  const std::string output = dag.stages.back().name, n = dag.stages.back().axes[0].name;

  Steps steps(std::move(begun));
  for (const std::string& stage : inlined) steps(InlineStep{stage});
  if (!steps.dag().find(output)->reduce_axes.empty()) steps(CacheWriteStep{output});
  std::vector<Stage> reductions;
  for (const Stage& stage : steps.dag().stages) {
    if (!stage.reduce_axes.empty()) reductions.push_back(stage);
  }
  std::vector<std::string> combining;  // partial results into fewer or one, all at once
  for (const Stage& stage : reductions) {
    const std::string& k = stage.reduce_axes[0].name;
    const std::int64_t lanes = row_lanes(stage.reduce_axes[0].extent, target);
    steps(RfactorStep{stage.name, k, lanes, "lane", true, true});
    combining.push_back(stage.name);
    if (number("chains") == 1) continue;
    const std::string partial = stage.name + ".lane";
    steps(RfactorStep{partial, k, number("chains"), "chain", true, false});
    combining.push_back(partial);
  }
  const ComputeDag now = steps.dag();
  const Stage& last = now.stages.back();
  steps.split(output, n, number("task_rows"), n + ".task", n + ".row");
  if (last.axes.size() > 1) {
    const std::string k = last.axes[1].name;
    const std::int64_t lanes = lanes_within(last.axes[1].extent, target);
    steps.split(output, k, number("vectors") * lanes, k + ".mid", k + ".reg");
    steps.split(output, k + ".reg", lanes, k + ".vector", k + ".lane");
    steps.unroll(output, {k + ".vector"});
    steps.vectorize(output, k + ".lane");
  }
  steps.parallel(output, {n + ".task"});

  for (const Stage& stage : now.stages) {
    if (stage.placeholder() || stage.name == output) continue;
    const bool row = stage.axes.size() == 2 && stage.reduce_axes.empty();
    steps(ComputeAtStep{stage.name, output, n + ".row",
                        row ? ir::Scope::Global : ir::Scope::Register});
    if (stage.axes.size() > 1) {
      const std::string& across = stage.axes.back().name;
      steps.split(stage.name, across, lanes_within(stage.axes.back().extent, target),
                  across + ".vector", across + ".lane");
      steps.vectorize(stage.name, across + ".lane");
      if (row) continue;
      const std::int64_t extent = stage.reduce_axes[0].extent;
      const bool all = std::count(combining.begin(), combining.end(), stage.name) > 0;
      schedule_partial(steps, stage, all ? extent : std::gcd(number("reduce_inner"), extent));
    } else {
      steps.unroll(stage.name, {stage.axes[0].name});
      for (const Axis& axis : stage.reduce_axes) steps.unroll(stage.name, {axis.name});
    }
  }
  return steps.finish();
}

}  // namespace fettle::space
