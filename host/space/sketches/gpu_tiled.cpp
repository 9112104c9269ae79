// Knobs and schedule of the tiled GPU sketch (gpu_tiled.h).
#include "host/space/sketches/gpu_tiled.h"

#include <algorithm>
#include <span>

#include "host/space/rewrite.h"
#include "host/space/sketches/gpu_staging.h"
#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/steps.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostTile = 256;       // rows or columns of a block
constexpr std::int64_t kMostRegisters = 16;   // rows or columns of a thread
constexpr std::int64_t kMostVectors = 4;      // of a thread's columns
constexpr std::int64_t kOtherRegisters = 24;  // addresses, counters
constexpr std::int64_t kMostInner = 32;

// [threads, elements of each], powers of two, and the whole of a short axis.
Options tiles_of(std::int64_t extent, std::int64_t most = kMostRegisters) {
  Options out;
  for (std::int64_t threads = 1; threads <= kMostTile; threads *= 2) {
    for (std::int64_t each = 1; each <= most; each *= 2) {
      if (threads * each <= std::min(extent, kMostTile)) out.push_back({threads, each});
    }
  }
  const bool power = (extent & (extent - 1)) == 0;
  if (!power && extent <= most) {
    out.push_back({1, extent}), out.push_back({extent, 1});
  }
  return out;
}

std::int64_t tile(const KnobValue& value) { return value[0] * value[1]; }

// What a block copies, by the knobs "rows", "columns", "step", "shared".
Copied copied_by(std::span<const KnobValue* const> values) {
  const std::int64_t which = (*values[3])[0];
  return {(*values[2])[0], which & 1 ? tile(*values[0]) : 0, which & 2 ? tile(*values[1]) : 0,
          (*values[0])[0] * (*values[1])[0]};
}

std::int64_t registers_of(const KnobValue& rows, const KnobValue& columns) {
  return rows[1] * columns[1] + rows[1] + columns[1] + kOtherRegisters;
}

}  // namespace

bool gpu_tiled_fits(const MatrixProduct& product, const GpuTarget& target) {
  return product.batch <= target.grid_yz && product.n <= target.grid_yz &&
         product.m <= target.grid_x;
}

Sketch gpu_tiled_sketch(const MatrixProduct& p, const GpuTarget& target) {
  Sketch sketch{p.row ? std::string("gpu_tiled_") + p.row->name : "gpu_tiled", {}};
  const Matrices matrices = matrices_of(p);
  auto& knobs = sketch.knobs;
  knobs.push_back({"rows", tiles_of(p.m)});
  const Options lanes = lanes_within(p.n, target);
  knobs.push_back({"columns", tiles_of(p.n, std::max(kMostRegisters, kMostVectors * lanes[0][0]))});
  knobs.push_back({"step", divisors(p.k, kMostInner)});
  // Most multiply-adds, of vectors where there are some, in the unrolled body.
  knobs.push_back({"unroll", lanes[0][0] > 1 ? plain({16, 64, 256}) : plain({64, 512, 2048})});
  // Neighbouring threads: 0: along columns, 1: along rows.
  knobs.push_back({"neighbours", plain({0, 1})});
  // Matrices that threads load together into shared memory: 0: none, 1: the first, 2: the second,
  // 3: both. The others are read where they are used.
  if (!target.shared_is_global) {
    knobs.push_back({"shared", plain({0, 1, 2, 3})});
    // Neighbouring threads load elements of 0: one row or column, 1: one step.
    knobs.push_back({"first_order", plain({0, 1})});
    knobs.push_back({"second_order", plain({0, 1})});
    knobs.push_back(stages_knob(matrices, target));
  }
  // Columns that a thread takes at once.
  if (lanes[0][0] > 1) knobs.push_back({"lanes", lanes});
  // The second matrix is 1: laid out as it is read, once when the program is loaded; 2: so, tiles
  // of columns one after the other.
  const bool panels = target.shared_is_global && is_constant(p.dag, *p.dag.find(p.second));
  if (is_constant(p.dag, *p.dag.find(p.second))) {
    knobs.push_back({"packed", panels ? plain({0, 1, 2}) : plain({0, 1})});
  }
  // What the first matrix is read from is 1: computed by a launch of its own, padding included.
  if (computed_source(p.dag, *p.dag.find(p.first))) knobs.push_back({"source", plain({0, 1})});

  sketch.constraints.push_back(
      {"threads of a block", {"rows", "columns"}, [most = target.threads_per_block](auto values) {
         return (*values[0])[0] * (*values[1])[0] <= most;
       }});
  if (lanes[0][0] > 1) {
    sketch.constraints.push_back({"whole vectors", {"columns", "lanes"}, [](auto values) {
                                    return (*values[0])[1] % (*values[1])[0] == 0;
                                  }});
  }
  if (panels) {
    sketch.constraints.push_back({"whole panels", {"columns", "packed"}, [n = p.n](auto values) {
                                    return (*values[1])[0] != 2 || n % tile(*values[0]) == 0;
                                  }});
  }
  sketch.constraints.push_back(
      {"registers",
       {"rows", "columns"},
       [=, thread = target.registers_per_thread, block = target.registers_per_block](auto values) {
         const std::int64_t needed = registers_of(*values[0], *values[1]);
         return needed <= thread && needed * (*values[0])[0] * (*values[1])[0] <= block;
       }});
  if (target.shared_is_global) return sketch;
  sketch.constraints.push_back({"shared memory of a block",
                                {"rows", "columns", "step", "shared", "stages"},
                                [matrices, most = target.shared_bytes](auto values) {
                                  return shared_bytes(matrices, copied_by(values),
                                                      (*values[4])[0]) <= most;
                                }});
  sketch.constraints.push_back({"stages of a sum",
                                {"rows", "columns", "step", "shared", "stages"},
                                [matrices, thread = target.registers_per_thread](auto values) {
                                  return stages_fit(matrices, copied_by(values), *values[4],
                                                    thread - registers_of(*values[0], *values[1]));
                                }});
  return sketch;
}

std::vector<std::string> place_product(Steps& steps, const MatrixProduct& p,
                                       const SearchSpace& space, const Configuration& c) {
  const auto number = [&](const char* knob, std::int64_t fallback = 0) {
    return value_or(space, c, knob, fallback);
  };
  const KnobValue &rows = space.value(c, "rows"), &columns = space.value(c, "columns");
  const bool along_rows = number("neighbours") == 1;
  const std::int64_t x = (along_rows ? rows : columns)[0], y = (along_rows ? columns : rows)[0],
                     step = number("step"), which = number("shared"), lanes = number("lanes", 1);
  const bool packed = number("packed") > 0;

  const auto axis = [&](const std::string& stage, std::size_t from_last) {
    const auto& axes = steps.dag().find(stage)->axes;
    return axes[axes.size() - 1 - from_last].name;
  };
  // The result: blocks, threads, elements of a thread.
  const std::string &out = p.result, m = axis(out, 1), n = axis(out, 0);
  for (const auto& [name, size] : {std::pair{m, rows}, {n, columns}}) {
    steps.split(out, name, tile(size), name + ".block", name + ".rest");
    steps.split(out, name + ".rest", size[1], name + ".thread", name + ".each");
  }
  std::vector<std::string> order{n + ".block", m + ".block"};
  if (p.batched) order.insert(order.begin(), axis(out, 2));
  const std::string threads[] = {(along_rows ? n : m) + ".thread",
                                 (along_rows ? m : n) + ".thread"};
  order.insert(order.end(), {threads[0], threads[1], m + ".each"});
  for (std::string& loop : in_vectors(steps, out, n + ".each", lanes)) {
    order.push_back(std::move(loop));
  }
  steps(ReorderStep{out, order});
  if (p.batched) steps(BindStep{out, axis(out, 2), ir::ThreadAxis::BlockZ});
  steps(BindStep{out, n + ".block", ir::ThreadAxis::BlockY});
  steps(BindStep{out, m + ".block", ir::ThreadAxis::BlockX});
  steps(BindStep{out, threads[0], ir::ThreadAxis::ThreadY});
  steps(BindStep{out, threads[1], ir::ThreadAxis::ThreadX});
  steps.unroll(out, {m + ".each"});

  // The sums of a thread.
  const std::string sm = axis(p.sums, 1), sn = axis(p.sums, 0),
                    k = steps.dag().find(p.sums)->reduce_axes[0].name;
  steps(ComputeAtStep{p.sums, out, threads[1], ir::Scope::Register});
  steps.split(p.sums, k, step, k + ".outer", k + ".inner");
  std::vector<std::string> sum_order{k + ".outer", k + ".inner", sm};
  for (std::string& loop : in_vectors(steps, p.sums, sn, lanes)) {
    sum_order.push_back(std::move(loop));
  }
  if (p.batched) sum_order.insert(sum_order.begin(), axis(p.sums, 2));
  steps(ReorderStep{p.sums, sum_order});
  steps.unroll(p.sums, {sm});
  if (step * rows[1] * columns[1] / lanes <= number("unroll")) {
    steps.unroll(p.sums, {k + ".inner"});
  }

  std::vector<std::string> placed{out, p.sums};
  for (const auto& [matrix, bit, knob] :
       {std::tuple{p.first, 1, "first_order"}, std::tuple{p.second, 2, "second_order"}}) {
    const bool laid_out = packed && matrix == p.second;
    std::string stage = matrix;
    if (!laid_out) placed.push_back(matrix);
    if (!(which & bit)) {
      if (!laid_out) steps(InlineStep{stage});
      continue;
    }
    if (laid_out) {
      steps(CacheReadStep{matrix, p.sums, "shared"});
      stage += ".shared";
      placed.push_back(stage);
    }
    stage_together(steps, stage, p.sums, k + ".outer", number(knob) == 1, x, y);
  }
  if (which != 0) {
    const KnobValue& stages = space.value(c, "stages");
    if (stages[0] > 1) {
      steps(PipelineStep{p.sums, k + ".outer", int(stages[0]), stages[1] == 1});
    }
  }
  return placed;
}

ComputeDag stored_as_packed(const MatrixProduct& p, const SearchSpace& space,
                            const Configuration& c) {
  if (value_or(space, c, "packed", 0) != 2) return p.dag;
  return with_panels(p, tile(space.value(c, "columns")));
}

Steps begin_product(const MatrixProduct& p, const SearchSpace& space, const Configuration& c) {
  Steps steps{Schedule(stored_as_packed(p, space, c))};
  std::vector<std::string> kept{p.first, p.second};
  if (value_or(space, c, "source", 0) == 1) {
    kept.push_back(computed_source(p.dag, *p.dag.find(p.first))->name);
  }
  inline_elementwise(steps, kept);
  return steps;
}

Result<Schedule> gpu_tiled_schedule(const MatrixProduct& p, const GpuTarget& target,
                                    const SearchSpace& space, const Configuration& c) {
  Steps steps = begin_product(p, space, c);
  const std::vector<std::string> placed = place_product(steps, p, space, c);
  launch_others(steps, placed, target, plain_elements(target));
  return steps.finish();
}

}  // namespace fettle::space
