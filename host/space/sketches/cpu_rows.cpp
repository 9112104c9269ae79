// Knobs and schedule of the sketch for rows (cpu_rows.h).
#include "host/space/sketches/cpu_rows.h"

#include <numeric>

#include "host/ir/mutator.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

bool over_lanes(const Stage& stage) {
  return stage.reduce_axes.size() == 1 && stage.axes.size() == 1 &&
         stage.reduce_axes[0].name == "lane";
}

// Values of a whole row that stages after it read, some of them behind a condition.
struct Intermediate {
  std::vector<std::string> stages;
  bool guarded = false;
};

Intermediate intermediate_of(const ComputeDag& dag) {
  Intermediate out;
  for (const Stage& stage : dag.stages) {
    if (stage.body) {
      ir::walk(stage.body, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->node);
        out.guarded |= load && load->predicate;
      });
    }
    const bool inner = !stage.placeholder() && stage.role != ir::Role::Output;
    if (inner && stage.reduce_axes.empty() && stage.axes.size() == 2) {
      out.stages.push_back(stage.name);
    }
  }
  return out;
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

std::int64_t lanes_within(std::int64_t extent, const Target& target) {
  return largest_power(std::min<std::int64_t>(extent, std::max(1, target.vector_bits / 32)));
}

}  // namespace

bool cpu_rows_fits(const ComputeDag& dag) {
  int reductions = 0;
  for (const Stage& stage : dag.stages) reductions += over_lanes(stage);
  return reductions > 0 && dag.stages.back().axes.size() <= 2;
}

Sketch cpu_rows_sketch(const ComputeDag& dag, const Target& target) {
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
    if (stage.axes.size() == 2 && stage.reduce_axes.size() == 1) {
      // Steps of the reductions' loops that are unrolled.
      knobs.push_back({"reduce_inner", divisors(stage.reduce_axes[0].extent, 8)});
      // Partial results side by side, for additions wait for each other.
      knobs.push_back({"chains", divisors(stage.reduce_axes[0].extent, 4), 0});
      break;
    }
  }
  const Intermediate intermediate = intermediate_of(dag);
  bool worth = false;
  for (const std::string& stage : intermediate.stages) worth |= read_twice(dag, stage);
  // 0: intermediate values are computed where they are read, 1: kept for the row.
  if (worth && !intermediate.guarded) knobs.push_back({"keep", plain({0, 1})});
  return sketch;
}

Result<Schedule> cpu_rows_schedule(Schedule begun, const Target& target, const SearchSpace& space,
                                   const Configuration& c) {
  const ComputeDag& dag = begun.dag();
  const auto& knobs = space.sketches()[c.sketch].knobs;
  const auto number = [&](const char* knob) { return space.value(c, knob)[0]; };
  bool keep = false;
  for (const Knob& knob : knobs) keep |= knob.name == "keep" && number("keep") == 1;
  std::vector<std::string> kept, inlined;
  for (const std::string& stage : intermediate_of(dag).stages) {
    (keep && read_twice(dag, stage) ? kept : inlined).push_back(stage);
  }
  const std::string output = dag.stages.back().name, n = dag.stages.back().axes[0].name;

  Steps steps(std::move(begun));
  for (const std::string& stage : inlined) steps(InlineStep{stage});
  if (!steps.dag().find(output)->reduce_axes.empty()) steps(CacheWriteStep{output});
  std::vector<std::string> rows;
  for (const Stage& stage : steps.dag().stages) {
    if (stage.axes.size() == 2 && stage.reduce_axes.size() == 1) rows.push_back(stage.name);
  }
  for (const std::string& stage : rows) {
    if (number("chains") == 1) break;
    steps(RfactorStep{stage, "k", number("chains"), "chain", true, false});
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
      if (!row) {
        const std::string& k = stage.reduce_axes[0].name;
        const std::int64_t extent = stage.reduce_axes[0].extent;
        const bool chains = k != "k";  // their sum
        const std::int64_t inner = chains ? extent : std::gcd(number("reduce_inner"), extent);
        steps.split(stage.name, k, inner, k + ".outer", k + ".inner");
        std::vector<std::string> order{k + ".outer", k + ".inner"};
        for (std::size_t d = 0; d + 1 < stage.axes.size(); ++d) {
          order.push_back(stage.axes[d].name);
        }
        order.push_back(across + ".vector");
        order.push_back(across + ".lane");
        steps(ReorderStep{stage.name, order});
        for (std::size_t i = 1; i + 1 < order.size(); ++i) steps.unroll(stage.name, {order[i]});
      }
    } else {
      steps.unroll(stage.name, {stage.axes[0].name});
      for (const Axis& axis : stage.reduce_axes) steps.unroll(stage.name, {axis.name});
    }
  }
  return steps.finish();
}

}  // namespace fettle::space
