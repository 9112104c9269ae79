// Knobs and schedule of the sketch of warps (gpu_warps.h).
#include "host/space/sketches/gpu_warps.h"

#include <map>
#include <span>
#include <tuple>

#include "host/space/rewrite.h"
#include "host/space/sketches/gpu_parts.h"
#include "host/space/sketches/gpu_staging.h"
#include "host/space/sketches/gpu_steps.h"
#include "host/space/sketches/steps.h"
#include "host/space/tolerance.h"

namespace fettle::space {

namespace {

constexpr std::int64_t kMostWarps = 16;  // of a block
constexpr std::int64_t kMostTiles = 4;   // of a warp along rows or columns
constexpr std::int64_t kMostSteps = 4;   // tiles along the sum that are staged together
// Of a thread: a fragment's registers, at most, and those for addresses and counters.
constexpr std::int64_t kFragment = 8, kOtherRegisters = 32;

using Rows = std::vector<const ir::IntrinsicRow*>;

// The device's rows that make and take the row's fragments.
Rows family_of(const ir::IntrinsicRow& row, const GpuTarget& target) {
  Rows rows = target.instructions();
  std::erase_if(rows, [&](const ir::IntrinsicRow* other) {
    return std::string_view(other->family) != row.family;
  });
  return rows;
}

// Of the rows, the one that copies a tile of the operand from one scope to the other. Null: none.
const ir::IntrinsicRow* copies(const Rows& rows, const ir::Operand& operand, ir::Scope from,
                               ir::Scope to) {
  for (const ir::IntrinsicRow* row : rows) {
    if (row->operands.size() != 2) continue;
    const ir::Operand &read = row->operands[0], &written = row->operands[1];
    if (read.scope == from && written.scope == to && read.element->type == operand.element->type &&
        read.along_m == operand.along_m && read.along_n == operand.along_n &&
        read.along_k == operand.along_k) {
      return row;
    }
  }
  return nullptr;
}

const ir::IntrinsicRow* zeros(const Rows& rows, const ir::Operand& operand) {
  for (const ir::IntrinsicRow* row : rows) {
    if (row->operands.size() == 1 && row->operands[0].element->type == operand.element->type) {
      return row;
    }
  }
  return nullptr;
}

bool computes_sums(const ir::IntrinsicRow& row, const MatrixProduct& product) {
  return ir::operands_of(row, product.dag.find(product.sums)->body).has_value();
}

// [warps, tiles of each], powers of two.
Options tiles_of(std::int64_t extent, int side) {
  Options out;
  for (std::int64_t warps = 1; warps <= kMostWarps; warps *= 2) {
    for (std::int64_t each = 1; each <= kMostTiles; each *= 2) {
      if (warps * each * side <= extent) out.push_back({warps, each});
    }
  }
  return out;
}

Options steps_of(std::int64_t extent, int side) {
  Options out;
  for (std::int64_t tiles = 1; tiles <= kMostSteps; ++tiles) {
    if (extent % (tiles * side) == 0) out.push_back({tiles * side});
  }
  return out;
}

// By the knobs "rows", "columns", "step".
Copied copied_by(std::span<const KnobValue* const> values, const ir::IntrinsicRow& row) {
  const auto block = [](const KnobValue& value, int side) { return value[0] * value[1] * side; };
  return {(*values[2])[0], block(*values[0], row.tile.m), block(*values[1], row.tile.n),
          (*values[0])[0] * (*values[1])[0] * row.threads};
}

// Sums may be cut where the device has room for more warps than there are tiles.
bool has_parts(const WarpProduct& warp, const GpuTarget& target) {
  const MatrixProduct& p = warp.product;
  const ir::Tile& tile = warp.multiply->tile;
  return !p.batched && !parts_of(p).empty() &&
         leaves_threads_idle(p.m * p.n / (tile.m * tile.n) * warp.multiply->threads, target);
}

std::int64_t registers_of(const KnobValue& rows, const KnobValue& columns) {
  return kFragment * (rows[1] * columns[1] + rows[1] + columns[1]) + kOtherRegisters;
}

}  // namespace

std::optional<WarpProduct> warp_product(const ComputeDag& dag, const GpuTarget& target) {
  for (const ir::IntrinsicRow* row : target.instructions()) {
    if (row->threads == 1 || row->operands.size() != 3 || target.warp != row->threads) continue;
    auto product = with_matrix_product(dag, row->tile.k);
    if (!product) return std::nullopt;
    double error_growth = 1;
    if (!computes_sums(*row, *product)) {
      if (!dag.allow_tf32) continue;
      product = with_tf32_factors(std::move(*product));
      if (!product || !computes_sums(*row, *product)) continue;
      error_growth = tf32_error_growth(dag);
    }
    if (product->m < row->tile.m || product->n < row->tile.n || product->k % row->tile.k != 0) {
      continue;
    }
    const Rows rows = family_of(*row, target);
    const ir::Scope shared = ir::Scope::BlockShared, fragment = ir::Scope::Fragment;
    WarpProduct out{std::move(*product),
                    row,
                    zeros(rows, row->operands[2]),
                    copies(rows, row->operands[0], shared, fragment),
                    copies(rows, row->operands[1], shared, fragment),
                    copies(rows, row->operands[2], fragment, shared),
                    error_growth};
    if (out.zero && out.load_first && out.load_second && out.store) return out;
  }
  return std::nullopt;
}

std::optional<Sketch> gpu_warps_sketch(const WarpProduct& warp, const GpuTarget& target) {
  const MatrixProduct& p = warp.product;
  const ir::IntrinsicRow& row = *warp.multiply;
  const Matrices matrices = matrices_of(p);
  Sketch sketch{std::string("gpu_") + row.name, {}};
  auto& knobs = sketch.knobs;
  knobs.push_back({"rows", tiles_of(p.m, row.tile.m)});
  knobs.push_back({"columns", tiles_of(p.n, row.tile.n)});
  knobs.push_back({"step", steps_of(p.k, row.tile.k)});
  knobs.push_back(stages_knob(matrices, target));
  // Neighbouring threads load elements of 0: one row or column, 1: one step.
  knobs.push_back({"first_order", plain({0, 1})});
  knobs.push_back({"second_order", plain({0, 1})});
  if (has_parts(warp, target)) {
    Knob parts{"parts", {{1}}, 0};  // of each sum
    for (KnobValue& cut : parts_of(p)) parts.options.push_back(std::move(cut));
    knobs.push_back(std::move(parts));
  }
  // As in gpu_tiled.
  if (is_constant(p.dag, *p.dag.find(p.second))) knobs.push_back({"packed", plain({0, 1})});
  if (computed_source(p.dag, *p.dag.find(p.first))) knobs.push_back({"source", plain({0, 1})});

  const std::int64_t sum_bytes = row.accumulator().element->type.bytes();
  sketch.constraints.push_back(
      {"threads of a block",
       {"rows", "columns"},
       [threads = row.threads, most = target.threads_per_block](auto values) {
         return (*values[0])[0] * (*values[1])[0] * threads <= most;
       }});
  sketch.constraints.push_back({"shared memory of a block",
                                {"rows", "columns", "step", "stages"},
                                [=, &row, most = target.shared_bytes](auto values) {
                                  const Copied copied = copied_by(values, row);
                                  return shared_bytes(matrices, copied, (*values[3])[0]) +
                                             copied.first * copied.second * sum_bytes <=
                                         most;
                                }});
  sketch.constraints.push_back(
      {"registers",
       {"rows", "columns"},
       [threads = row.threads, thread = target.registers_per_thread,
        block = target.registers_per_block](auto values) {
         const std::int64_t needed = registers_of(*values[0], *values[1]);
         return needed <= thread && needed * (*values[0])[0] * (*values[1])[0] * threads <= block;
       }});
  sketch.constraints.push_back({"stages of a sum",
                                {"rows", "columns", "step", "stages"},
                                [=, &row, thread = target.registers_per_thread](auto values) {
                                  return stages_fit(matrices, copied_by(values, row), *values[3],
                                                    thread - registers_of(*values[0], *values[1]));
                                }});
  if (has_parts(warp, target)) {
    sketch.constraints.push_back(
        {"whole steps", {"step", "parts", "stages"}, [k = p.k](auto values) {
           const std::int64_t part = k / (*values[1])[0], steps = part / (*values[0])[0];
           return part % (*values[0])[0] == 0 && ((*values[2])[0] == 1 || steps >= (*values[2])[0]);
         }});
  }
  // The least of all: one warp, one tile.
  const KnobValue one{1, 1}, step = knobs[2].options.front(), stages{1, 0}, whole{1};
  const std::map<std::string, const KnobValue*> least{
      {"rows", &one}, {"columns", &one}, {"step", &step}, {"stages", &stages}, {"parts", &whole}};
  for (const Constraint& constraint : sketch.constraints) {
    std::vector<const KnobValue*> values;
    for (const std::string& name : constraint.knobs) {
      values.push_back(least.at(name));
    }
    if (!constraint.holds(values)) return std::nullopt;
  }
  return sketch;
}

namespace {

// The product as launches of warps. Returns the stages that it placed.
std::vector<std::string> place_warps(Steps& steps, const WarpProduct& warp, const MatrixProduct& p,
                                     const SearchSpace& space, const Configuration& c) {
  const ir::Tile& tile = warp.multiply->tile;
  const auto number = [&](const char* knob) { return value_or(space, c, knob, 0); };
  const KnobValue &rows = space.value(c, "rows"), &columns = space.value(c, "columns"),
                  &stages = space.value(c, "stages");
  const std::int64_t step = number("step"), x = warp.multiply->threads, y = rows[0] * columns[0];
  const bool packed = number("packed") == 1;

  const auto axis = [&](const std::string& stage, std::size_t from_last) {
    const auto& axes = steps.dag().find(stage)->axes;
    return axes[axes.size() - 1 - from_last].name;
  };
  // Matrices of parts have no axis for these: parts are cut from their steps.
  const auto with_batch = [&](const std::string& stage, std::vector<std::string> loops) {
    if (steps.dag().find(stage)->axes.size() > 2) loops.insert(loops.begin(), axis(stage, 2));
    steps(ReorderStep{stage, loops});
  };

  // The result: blocks, and of one of them all elements by all threads.
  const std::string &out = p.result, m = axis(out, 1), n = axis(out, 0);
  steps.split(out, m, rows[0] * rows[1] * tile.m, m + ".block", m + ".rest");
  steps.split(out, n, columns[0] * columns[1] * tile.n, n + ".block", n + ".rest");
  with_batch(out, {n + ".block", m + ".block", m + ".rest", n + ".rest"});
  if (p.batched) steps(BindStep{out, axis(out, 2), ir::ThreadAxis::BlockZ});
  steps(BindStep{out, n + ".block", ir::ThreadAxis::BlockY});
  steps(BindStep{out, m + ".block", ir::ThreadAxis::BlockX});
  load_together(steps, out, {m + ".rest", n + ".rest"}, x, y);

  // Its sums, as the warps leave them.
  steps(CacheWriteStep{p.sums});
  const std::string local = p.sums + ".local", sm = axis(p.sums, 1), sn = axis(p.sums, 0);
  steps(ComputeAtStep{p.sums, out, m + ".block", ir::Scope::BlockShared});
  for (const auto& [name, each, side] :
       {std::tuple{sm, rows[1], tile.m}, {sn, columns[1], tile.n}}) {
    steps.split(p.sums, name, each * side, name + ".warp", name + ".rest");
    steps.split(p.sums, name + ".rest", side, name + ".tile", name + ".in");
  }
  with_batch(p.sums,
             {sm + ".warp", sn + ".warp", sm + ".tile", sn + ".tile", sm + ".in", sn + ".in"});
  steps(FuseStep{p.sums, {sm + ".warp", sn + ".warp"}, "warp"});
  steps(BindStep{p.sums, "warp", ir::ThreadAxis::ThreadY});
  steps.unroll(p.sums, {sm + ".tile", sn + ".tile"});
  steps(TensorizeStep{p.sums, warp.store->name});

  // A warp's sums.
  const std::string lm = axis(local, 1), ln = axis(local, 0),
                    k = steps.dag().find(local)->reduce_axes[0].name;
  steps(ComputeAtStep{local, p.sums, "warp", ir::Scope::Fragment});
  steps.split(local, lm, tile.m, lm + ".tile", lm + ".in");
  steps.split(local, ln, tile.n, ln + ".tile", ln + ".in");
  steps.split(local, k, step, k + ".outer", k + ".rest");
  steps.split(local, k + ".rest", tile.k, k + ".tile", k + ".in");
  with_batch(local, {k + ".outer", k + ".tile", lm + ".tile", ln + ".tile", lm + ".in", ln + ".in",
                     k + ".in"});
  steps.unroll(local, {k + ".tile", lm + ".tile", ln + ".tile"});
  steps(TensorizeStep{local, warp.multiply->name, warp.zero->name});

  std::vector<std::string> placed{out, p.sums, local};
  for (const auto& [matrix, row, side, knob] :
       {std::tuple{p.first, warp.load_first, tile.m, "first_order"},
        std::tuple{p.second, warp.load_second, tile.n, "second_order"}}) {
    std::string stage = matrix;
    if (packed && matrix == p.second) {
      steps(CacheReadStep{matrix, local, "shared"});
      stage += ".shared";
    }
    steps(CacheReadStep{stage, local, "fragment"});
    const std::string fragment = stage + ".fragment";
    placed.insert(placed.end(), {stage, fragment});
    steps(ComputeAtStep{fragment, local, k + ".tile", ir::Scope::Fragment});
    const std::string along = axis(fragment, 0), fk = axis(fragment, 1);
    steps.split(fragment, along, side, along + ".tile", along + ".in");
    steps.split(fragment, fk, tile.k, fk + ".tile", fk + ".in");
    with_batch(fragment, {fk + ".tile", along + ".tile", along + ".in", fk + ".in"});
    steps.unroll(fragment, {fk + ".tile", along + ".tile"});
    steps(TensorizeStep{fragment, row->name});
    stage_together(steps, stage, local, k + ".outer", number(knob) == 1, x, y);
  }
  if (stages[0] > 1) {
    steps(PipelineStep{local, k + ".outer", int(stages[0]), stages[1] == 1});
  }
  return placed;
}

}  // namespace

Result<Schedule> gpu_warps_schedule(const WarpProduct& warp, const GpuTarget& target,
                                    const SearchSpace& space, const Configuration& c) {
  const MatrixProduct& p = warp.product;
  Steps steps{Schedule(p.dag)};
  std::vector<std::string> kept{p.first, p.second};
  if (value_or(space, c, "source", 0) == 1) {
    kept.push_back(computed_source(p.dag, *p.dag.find(p.first))->name);
  }
  inline_elementwise(steps, kept);
  const std::int64_t parts = value_or(space, c, "parts", 1);
  const MatrixProduct product = parts > 1 ? cut_sums(steps, p, parts) : p;
  std::vector<std::string> placed = place_warps(steps, warp, product, space, c);
  if (parts > 1) add_parts(steps, p, target, placed);
  launch_others(steps, placed, target, plain_elements(target));
  return steps.finish();
}

}  // namespace fettle::space
