// Reading roles off loads (axis_roles.h).
#include "host/space/axis_roles.h"

#include <algorithm>

#include "host/ir/affine.h"
#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/algorithms/dot_product.h"

namespace fettle::space {

namespace {

const ir::Load* load_in(const ir::Expr& factor) {
  const auto* wide = std::get_if<ir::Cast>(&factor->node);
  return std::get_if<ir::Load>(&(wide ? wide->value : factor)->node);
}

bool reads_along(const ir::Load& load, const ir::Var& var) {
  return std::any_of(load.indices.begin(), load.indices.end(),
                     [&](const ir::Expr& index) { return ir::mentions(index, var); });
}

// The two factors of a sum of products, or the one load that is reduced.
bool find_factors(const ComputeDag& dag, const Stage& stage, AxisRoles& roles) {
  if (const ir::Load* only = load_in(stage.body)) {
    roles.first = only;
    return true;
  }
  if (const auto packed = packed_factors(stage)) {
    roles.first = packed->data, roles.second = packed->constant;
    return true;
  }
  const auto* product = std::get_if<ir::Binary>(&stage.body->node);
  if (!product || product->op != ir::BinaryOp::Mul || stage.combiner != Combiner::Sum) return false;
  const ir::Load *a = load_in(product->a), *b = load_in(product->b);
  if (!a || !b) return false;
  const bool a_constant = is_constant(dag, *dag.find(a->buffer)),
             b_constant = is_constant(dag, *dag.find(b->buffer));
  const ir::Var& last = stage.axes.back().var;
  const bool swapped =
      a_constant != b_constant ? a_constant : reads_along(*a, last) && !reads_along(*b, last);
  roles.first = swapped ? b : a;
  roles.second = swapped ? a : b;
  return true;
}

// stride * a spatial axis + dilation * a reduction axis + anything constant.
std::optional<WindowPair> pair_in(const Stage& stage, const ir::Expr& index) {
  const auto linear = ir::affine_of(index);
  if (!linear || linear->terms.size() != 2) return std::nullopt;
  WindowPair pair{};
  int found = 0;
  for (const auto& [var, coefficient] : linear->terms) {
    for (std::size_t i = 0; i < stage.axes.size(); ++i) {
      if (stage.axes[i].var == var) pair.axis = i, pair.stride = coefficient, found |= 1;
    }
    for (std::size_t i = 0; i < stage.reduce_axes.size(); ++i) {
      if (stage.reduce_axes[i].var == var) pair.window = i, pair.dilation = coefficient, found |= 2;
    }
  }
  if (found != 3) return std::nullopt;
  return pair;
}

}  // namespace

std::vector<std::size_t> AxisRoles::axes_of(AxisRole role) const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == role) out.push_back(i);
  }
  return out;
}

std::optional<AxisRoles> roles_of(const ComputeDag& dag, const Stage& stage) {
  AxisRoles roles;
  if (stage.placeholder() || stage.reduce_axes.empty() || stage.axes.empty()) return std::nullopt;
  if (!find_factors(dag, stage, roles)) return std::nullopt;
  for (const Axis& axis : stage.axes) {
    const bool in_first = reads_along(*roles.first, axis.var),
               in_second = roles.second && reads_along(*roles.second, axis.var);
    roles.axes.push_back(in_first && in_second ? AxisRole::Batch
                         : in_second           ? AxisRole::Channel
                                               : AxisRole::Spatial);
  }
  roles.reduce_axes.assign(stage.reduce_axes.size(), AxisRole::Contraction);
  for (const ir::Expr& index : roles.first->indices) {
    const auto pair = pair_in(stage, index);
    if (!pair) continue;
    roles.reduce_axes[pair->window] = AxisRole::Window;
    roles.windows.push_back(*pair);
  }
  return roles;
}

const Axis* sole_axis(const Stage& stage, const ir::Expr& index) {
  const auto* ref = std::get_if<ir::VarRef>(&index->node);
  for (const Axis& axis : stage.axes) {
    if (ref && axis.var == ref->var) return &axis;
  }
  return nullptr;
}

namespace {

// The load that the stage copies; null: it computes something.
const ir::Load* copied_load(const Stage& stage) {
  ir::Expr value = stage.body;
  if (const auto* choice = std::get_if<ir::Select>(&value->node)) value = choice->then_value;
  if (const auto* moved = std::get_if<ir::Binary>(&value->node);
      moved && moved->op == ir::BinaryOp::Add && ir::as_int(moved->b)) {
    value = moved->a;
  }
  return std::get_if<ir::Load>(&value->node);
}

}  // namespace

const Stage* copy_read_by(const ComputeDag& dag, const Stage& stage) {
  const Stage* found = nullptr;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    const Stage* read = load ? dag.find(load->buffer) : nullptr;
    if (!read || read->placeholder() || !read->reduce_axes.empty() ||
        read->role == ir::Role::Output || is_constant(dag, *read)) {
      return;
    }
    const ir::Load* source = copied_load(*read);
    if (source && dag.find(source->buffer)->placeholder()) found = read;
  });
  return found;
}

}  // namespace fettle::space
