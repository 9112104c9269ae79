// A sum of products as a product of matrices (matrix_product.h).
#include "host/space/algorithms/matrix_product.h"

#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/axis_roles.h"
#include "host/space/fused_axes.h"
#include "host/space/operators/stages.h"
#include "host/space/rewrite.h"

namespace fettle::space {

namespace {

// The DAG's sum of products, if it computes no other sum and no other launch reads it but one
// that is elementwise. Null: there is none.
const Stage* sole_product(const ComputeDag& dag) {
  const Stage* found = nullptr;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty()) continue;
    if (found || is_constant(dag, stage)) return nullptr;
    found = &stage;
  }
  const auto* product = found ? std::get_if<ir::Binary>(&found->body->node) : nullptr;
  return product && product->op == ir::BinaryOp::Mul ? found : nullptr;
}

// Whether the stage reads the sum at its own axes, and nowhere else.
bool reads_at_own_axes(const Stage& stage, const Stage& sum) {
  bool own = stage.axes.size() == sum.axes.size() && sum.store_at.empty();
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load || load->buffer != sum.buffer) return;
    for (std::size_t d = 0; own && d < load->indices.size(); ++d) {
      own = sole_axis(stage, load->indices[d]) == &stage.axes[d] &&
            stage.axes[d].extent == sum.axes[d].extent;
    }
  });
  return own;
}

// The last stage, with all elementwise ones between it and the sum in it, if it reads the sum at
// its own axes. Null: it does not.
const Stage* merged_output(ComputeDag& dag, const Stage& sum) {
  bool after = false;
  std::vector<std::string> between;
  for (const Stage& stage : dag.stages) {
    if (after && !stage.placeholder() && stage.role != ir::Role::Output &&
        !is_constant(dag, stage)) {
      between.push_back(stage.name);
    }
    after |= stage.name == sum.name;
  }
  for (const std::string& name : between) {
    if (!inline_stage(dag, name)) return nullptr;
  }
  const Stage& output = dag.stages.back();
  return output.name == sum.name || reads_at_own_axes(output, sum) ? &output : nullptr;
}

// The elementwise stage that alone reads the sum, at its own axes. Null: there is none.
const Stage* sole_reader(const ComputeDag& dag, const Stage& sum) {
  const std::vector<std::string> readers = readers_of(dag, sum.buffer);
  const Stage* reader = readers.size() == 1 ? dag.find(readers[0]) : nullptr;
  const bool takes = reader && reader->reduce_axes.empty() && reads_at_own_axes(*reader, sum);
  return takes ? reader : nullptr;
}

// The axis of the sum, and what it stands for: for each step of one of its elements, the
// reduction axes' values, and whether there is such a step (null: there always is).
struct Steps {
  Axis axis;
  std::vector<ir::Substitution> parts;
  std::vector<ir::Expr> inside;
};

// The axes with that one last whose steps can be taken `each` at a time: of those that have a
// multiple of them the one along which `from` lies side by side, if there is one. Empty: none.
std::vector<Axis> by_steps(std::vector<Axis> axes, std::int64_t each, const ir::Load& from) {
  auto found = axes.end();
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    const bool neighbours = is_var(from.indices.back(), axis->var);
    if (axis->extent % each == 0 && (found == axes.end() || neighbours)) found = axis;
  }
  if (found != axes.end()) {
    std::rotate(found, found + 1, axes.end());
  } else if (axes.size() > 1) {
    axes.clear();
  }
  return axes;
}

// `each` steps to an element. Where the last reduction axis has a multiple of them, an element's
// steps differ in that axis alone, and so lie side by side where it does.
Steps steps_of(std::vector<Axis> axes, std::int64_t each, std::int64_t multiple) {
  const std::int64_t products = product_of_extents(axes);
  const bool whole = axes.back().extent % each == 0;
  const Axis last = axes.back();
  if (whole) axes.back().extent /= each;
  const std::int64_t elements = (products + each - 1) / each;
  const std::int64_t extent =
      elements <= multiple ? elements : (elements + multiple - 1) / multiple * multiple;
  const FusedAxes k = fused_axes("k", axes, extent);
  const ir::Expr at = ir::var_ref(k.axis.var);
  Steps steps{k.axis, {}, {}};
  for (std::int64_t i = 0; i < each; ++i) {
    ir::Substitution parts = k.parts;
    ir::Expr step = at;  // its number
    if (whole) {
      parts[last.var] = parts[last.var] * ir::int_imm(each) + ir::int_imm(i);
    } else {
      step = at * ir::int_imm(each) + ir::int_imm(i);
      for (auto& [var, part] : parts) part = ir::substitute(part, {{k.axis.var, step}});
    }
    const std::int64_t there = whole ? elements : products;
    const bool beyond = extent * (whole ? 1 : each) > there;
    steps.parts.push_back(std::move(parts));
    steps.inside.push_back(beyond ? ir::binary(ir::BinaryOp::Lt, step, ir::int_imm(there))
                                  : nullptr);
  }
  return steps;
}

Stage matrix(const std::string& name, const ir::Load& from, const FusedAxes& batch, const Steps& k,
             const FusedAxes& along, bool batched) {
  std::vector<ir::Expr> values;
  for (std::size_t i = 0; i < k.parts.size(); ++i) {
    ir::Substitution all = batch.parts;
    all.insert(k.parts[i].begin(), k.parts[i].end());
    all.insert(along.parts.begin(), along.parts.end());
    std::vector<ir::Expr> at;
    for (const ir::Expr& index : from.indices) at.push_back(ir::substitute(index, all));
    ir::Expr on = from.predicate ? ir::substitute(from.predicate, all) : nullptr;
    if (k.inside[i]) on = on ? ir::binary(ir::BinaryOp::And, k.inside[i], on) : k.inside[i];
    values.push_back(ir::load(from.buffer, at, on));
  }
  const ir::Expr body = values.size() == 1 ? values[0] : packed_bytes(values);
  // Axes of its own: a stage's variables are no other's.
  std::vector<Axis> axes;
  ir::Substitution own;
  for (const Axis* each : {&batch.axis, &k.axis, &along.axis}) {
    if (each == &batch.axis && !batched) continue;
    axes.push_back(make_axis(each->name, each->extent));
    own[each->var] = ir::var_ref(axes.back().var);
  }
  return make_stage(name, std::move(axes), {}, ir::substitute(body, own));
}

// Takes the sums in place of what `stage` was.
Stage result_of(const Stage& stage, const Stage& sum, const Stage& sums, const AxisRoles& roles,
                bool batched, std::int64_t batch, std::int64_t m, std::int64_t n) {
  std::vector<Axis> by_role[3];
  for (std::size_t d = 0; d < stage.axes.size(); ++d) {
    by_role[int(roles.axes[d])].push_back(stage.axes[d]);
  }
  const FusedAxes fb = fused_axes("batch", by_role[int(AxisRole::Batch)], batch),
                  fm = fused_axes("m", by_role[int(AxisRole::Spatial)], m),
                  fn = fused_axes("n", by_role[int(AxisRole::Channel)], n);
  ir::Substitution all = fb.parts;
  all.insert(fm.parts.begin(), fm.parts.end());
  all.insert(fn.parts.begin(), fn.parts.end());
  Stage result = stage;
  result.axes.clear();
  if (batched) result.axes.push_back(fb.axis);
  result.axes.insert(result.axes.end(), {fm.axis, fn.axis});
  result.reduce_axes.clear();
  result.combiner = Combiner::Sum;
  const ir::Expr value = ir::load(sums.buffer, refs(result.axes));
  if (stage.name == sum.name) {
    result.body = value;
  } else {
    result.body = ir::substitute(
        ir::replace_loads(stage.body, sum.buffer, [&](const ir::Load&) { return value; }), all);
  }
  if (result.store_at.empty()) result.store_at = refs(stage.axes);
  for (ir::Expr& place : result.store_at) place = ir::substitute(place, all);
  return result;
}

}  // namespace

std::optional<MatrixProduct> with_matrix_product(const ComputeDag& dag, std::int64_t multiple,
                                                 const ir::IntrinsicRow* row) {
  const Stage* found = sole_product(dag);
  if (!found || (row && !ir::operands_of(*row, found->body))) return std::nullopt;
  const Stage sum = *found;
  const auto roles = roles_of(dag, sum);
  if (!roles || !roles->second || roles->first->buffer == roles->second->buffer)
    return std::nullopt;
  if (roles->axes_of(AxisRole::Channel).empty()) return std::nullopt;

  MatrixProduct out;
  std::vector<Axis> by_role[3];
  for (std::size_t d = 0; d < sum.axes.size(); ++d) {
    by_role[int(roles->axes[d])].push_back(sum.axes[d]);
  }
  out.batch = product_of_extents(by_role[int(AxisRole::Batch)]);
  out.batched = out.batch > 1;
  out.m = product_of_extents(by_role[int(AxisRole::Spatial)]);
  out.n = product_of_extents(by_role[int(AxisRole::Channel)]);
  const std::int64_t each = row ? row->tile.k : 1;
  const std::vector<Axis> summed =
      row ? by_steps(sum.reduce_axes, each, *roles->first) : sum.reduce_axes;
  if (summed.empty()) return std::nullopt;
  const Steps k = steps_of(summed, each, multiple);
  out.k = k.axis.extent, out.row = row;
  const FusedAxes batch = fused_axes("batch", by_role[int(AxisRole::Batch)], out.batch),
                  m = fused_axes("m", by_role[int(AxisRole::Spatial)], out.m),
                  n = fused_axes("n", by_role[int(AxisRole::Channel)], out.n);

  const Stage first = matrix(sum.name + ".first", *roles->first, batch, k, m, out.batched),
              second = matrix(sum.name + ".second", *roles->second, batch, k, n, out.batched);
  std::vector<Axis> axes;
  if (out.batched) axes.push_back(batch.axis);
  axes.insert(axes.end(), {m.axis, n.axis});
  std::vector<ir::Expr> at_first, at_second;
  if (out.batched) at_first = at_second = {ir::var_ref(batch.axis.var)};
  at_first.insert(at_first.end(), {ir::var_ref(k.axis.var), ir::var_ref(m.axis.var)});
  at_second.insert(at_second.end(), {ir::var_ref(k.axis.var), ir::var_ref(n.axis.var)});
  const ir::Expr a = ir::load(first.buffer, at_first), b = ir::load(second.buffer, at_second);
  ir::Expr product;
  if (row) {
    product = ir::intrinsic(*row, {a, b, ir::int_imm(0)});
  } else {
    product = ir::replace_loads(sum.body, roles->first->buffer, [&](const ir::Load&) { return a; });
    product = ir::replace_loads(product, roles->second->buffer, [&](const ir::Load&) { return b; });
  }
  const Stage sums = make_stage(sum.name + ".sums", std::move(axes), {k.axis}, product);
  out.first = first.name, out.second = second.name, out.sums = sums.name;

  out.dag = dag;
  ComputeDag merged = dag;
  const Stage* takes = merged_output(merged, sum);
  if (takes) {
    out.dag = merged;
  } else {
    takes = sole_reader(out.dag, sum);
  }
  const Stage was = takes ? *takes : sum;
  const Stage result = result_of(was, sum, sums, *roles, out.batched, out.batch, out.m, out.n);
  out.result = result.name;
  auto& stages = out.dag.stages;
  if (takes && was.name != sum.name) {
    stages.erase(stages.begin() + index_of(out.dag, sum.name));
  }
  const int place = index_of(out.dag, was.name);
  stages[std::size_t(place)] = result;
  stages.insert(stages.begin() + place, {first, second, sums});
  return out;
}

ComputeDag with_panels(const MatrixProduct& p, std::int64_t columns) {
  ComputeDag dag = p.dag;
  Stage& second = dag.stages[std::size_t(index_of(dag, p.second))];
  const ir::Expr width = ir::int_imm(columns);
  const auto place = [&](std::vector<ir::Expr> at) {
    const std::size_t k = at.size() - 2;
    const ir::Expr n = at.back();
    at.back() = ir::binary(ir::BinaryOp::Mod, n, width);
    at.insert(at.begin() + std::ptrdiff_t(k), ir::binary(ir::BinaryOp::Div, n, width));
    return at;
  };
  ir::BufferDecl panels = *second.buffer;
  panels.shape.back() = columns;
  panels.shape.insert(panels.shape.end() - 2, p.n / columns);
  const ir::Buffer before = second.buffer;
  second.buffer = std::make_shared<const ir::BufferDecl>(std::move(panels));
  second.store_at = place(refs(second.axes));
  Stage& sums = dag.stages[std::size_t(index_of(dag, p.sums))];
  sums.body = ir::replace_loads(sums.body, before, [&](const ir::Load& load) {
    return ir::load(second.buffer, place(load.indices), load.predicate);
  });
  return dag;
}

}  // namespace fettle::space
