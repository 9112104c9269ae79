// Parts of a DAG by their roles (tiled_shape.h), and which DAGs the tiled sketch is for.
#include "host/space/sketches/tiled_shape.h"

#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/algorithms/dot_product.h"
#include "host/space/padding.h"
#include "host/space/rewrite.h"
#include "host/space/sketches/cpu_tiled.h"

namespace fettle::space {

namespace {

bool reads_inputs_only(const ComputeDag& dag, const Stage& stage) {
  bool only = true;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    only &= !load || dag.find(load->buffer)->placeholder();
  });
  return only;
}

// The DAG's one sum of products. Beside it there may be reductions of one factor, which are
// computed before it (what a dot product's offset is made of). Null: there is none, or another.
const Stage* sole_reduction(const ComputeDag& dag) {
  const Stage* found = nullptr;
  for (const Stage& stage : dag.stages) {
    if (stage.reduce_axes.empty() || is_constant(dag, stage)) continue;
    const auto roles = roles_of(dag, stage);
    const bool product = roles && roles->second;
    if (product ? found != nullptr : !reads_inputs_only(dag, stage)) return nullptr;
    if (product) found = &stage;
  }
  return found;
}

// A constant, an input, or an elementwise stage of inputs, which is computed as it is packed.
bool is_packable(const ComputeDag& dag, const Stage& second) {
  if (second.placeholder() || is_constant(dag, second)) return true;
  return second.reduce_axes.empty() && second.store_at.empty() && reads_inputs_only(dag, second);
}

// The dimension that the stage's axis alone indexes; the load's rank: there is none.
std::size_t dimension_of(const ir::Load& load, const Stage& stage, const Axis& axis) {
  std::size_t d = 0;
  while (d < load.indices.size() && sole_axis(stage, load.indices[d]) != &axis) ++d;
  return d;
}

// Of a stage that has the reduction's axes under names of its own.
TiledAxes tiled_axes(const std::vector<Axis>& axes, const AxisRoles& roles, std::size_t tiled) {
  TiledAxes out;
  const auto spatial = roles.axes_of(AxisRole::Spatial);
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    if (i == tiled) continue;
    const std::string& name = axes[i].name;
    out.rows.push_back(name);
    if (roles.axes[i] == AxisRole::Batch) {
      (i < spatial.front() ? out.batch : out.groups).push_back(name);
    } else if (i == spatial.back()) {
      out.x = name;
    } else if (i == spatial[spatial.size() - 2]) {
      out.y = name;
    } else {
      out.outer.push_back(name);
    }
  }
  out.tiled = axes[tiled].name;
  out.channel = axes.back().name;
  return out;
}

// Of the windows those whose iterations may add nothing. Of packed products the last window is
// never among them (dot_product.h).
std::vector<std::string> skipped_windows(const Stage& sum, const Stage& copy,
                                         std::vector<std::string> windows) {
  const std::vector<ir::Expr> conditions = adds_nothing_unless(sum, copy);
  if (conditions.empty()) return {};
  const auto asked = [&](const std::string& window) {
    for (const Axis& axis : sum.reduce_axes) {
      if (axis.name != window) continue;
      return std::any_of(conditions.begin(), conditions.end(),
                         [&](const ir::Expr& e) { return ir::mentions(e, axis.var); });
    }
    return false;
  };
  while (packed_factors(sum) && !windows.empty() && !asked(windows.back())) windows.pop_back();
  return windows;
}

}  // namespace

bool cpu_tiled_fits(const ComputeDag& dag) {
  const Stage* reduction = sole_reduction(dag);
  if (!reduction) return false;
  if (!reduction->store_at.empty() && reduction->role != ir::Role::Output) return false;
  const auto roles = roles_of(dag, *reduction);
  if (!roles || !roles->second || roles->first->predicate || roles->second->predicate) return false;
  const Stage& second = *dag.find(roles->second->buffer);
  if (!is_packable(dag, second)) return false;
  const auto& axes = reduction->axes;
  if (roles->axes_of(AxisRole::Channel) != std::vector<std::size_t>{axes.size() - 1}) return false;
  if (roles->axes_of(AxisRole::Spatial).empty()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (roles->axes[i] == AxisRole::Spatial) continue;
    const std::size_t d = dimension_of(*roles->second, *reduction, axes[i]);
    const bool last = d + 1 == roles->second->indices.size();
    if (d == roles->second->indices.size() || last != (i + 1 == axes.size())) return false;
    for (std::size_t other = 0; other < roles->second->indices.size(); ++other) {
      if (other != d && ir::mentions(roles->second->indices[other], axes[i].var)) return false;
    }
  }
  // Elementwise stages only come after it.
  const Stage& output = dag.stages.back();
  if (output.axes.size() != axes.size()) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (output.axes[i].extent != axes[i].extent) return false;
  }
  return true;
}

bool only_cpu_tiled_fits(const ComputeDag& dag) {
  if (!cpu_tiled_fits(dag)) return false;
  const AxisRoles roles = *roles_of(dag, *sole_reduction(dag));
  const std::size_t spatial = roles.axes_of(AxisRole::Spatial).size();
  return roles.axes_of(AxisRole::Batch).empty() && (spatial == 1 || spatial == 3);
}

std::vector<std::string> TiledShape::windows() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reduce.size(); ++i) {
    if (reduce_roles[i] == AxisRole::Window) names.push_back(reduce[i].name);
  }
  return names;
}

TiledShape tiled_shape(const ComputeDag& dag, bool spans) {
  const Stage& reduction = *sole_reduction(dag);
  const AxisRoles roles = *roles_of(dag, reduction);
  const Stage& second = *dag.find(roles.second->buffer);
  const Stage* pad = copy_read_by(dag, reduction);
  TiledShape s;
  s.reduction = reduction.name, s.second = second.name, s.output = dag.stages.back().name;
  if (pad) s.pad = pad->name;
  s.spans = spans;
  s.constant = is_constant(dag, second);
  s.made_second = !second.placeholder();
  s.stored_apart = !dag.stages.back().store_at.empty();

  const auto& axes = reduction.axes;
  const auto spatial = roles.axes_of(AxisRole::Spatial);
  const std::size_t tiled = axes.size() - (spans ? 2 : 1);
  s.sums = tiled_axes(axes, roles, tiled);
  s.out = tiled_axes(dag.stages.back().axes, roles, tiled);
  s.x_extent = axes[spatial.back()].extent;
  if (spatial.size() > 1) s.y_extent = axes[spatial[spatial.size() - 2]].extent;
  s.tiled_extent = axes[tiled].extent;
  if (spans) s.per = axes.back().extent;
  const auto own_name = [&](std::size_t axis) {
    return second.axes[dimension_of(*roles.second, reduction, axes[axis])].name;
  };
  s.tiled_of_second = own_name(tiled);
  for (const std::size_t i : roles.axes_of(AxisRole::Batch)) {
    if (i != tiled) s.batch_of_second.push_back(own_name(i));
  }
  s.reduce = reduction.reduce_axes;
  s.reduce_roles = roles.reduce_axes;

  s.inner = s.reduce.back().extent;
  if (pad) {
    s.skips = skipped_windows(reduction, *pad, s.windows());
    const auto* load = std::get_if<ir::Load>(&pad->body->node);
    s.inlines_pad = load && !s.skips.empty() && !packed_factors(reduction) &&
                    is_var(load->indices.back(), pad->axes.back().var);
  }
  return s;
}

std::vector<std::vector<std::int64_t>> register_tiles(const TiledShape& shape,
                                                      const CpuTarget& target) {
  auto tiles = register_tiles(shape.y_extent, shape.x_extent, shape.channels(), target);
  std::erase_if(tiles, [&](const auto& tile) {
    return shape.spans && (tile[3] % shape.per != 0 || shape.channels() % (tile[2] * tile[3]) != 0);
  });
  return tiles;
}

bool cpu_tiled_groups_fits(const ComputeDag& dag, const CpuTarget& target) {
  if (!cpu_tiled_fits(dag)) return false;
  const Stage& reduction = *sole_reduction(dag);
  const AxisRoles roles = *roles_of(dag, reduction);
  const std::size_t rank = reduction.axes.size(), dims = roles.second->indices.size();
  if (rank < 3 || roles.axes[rank - 2] != AxisRole::Batch || dims < 2) return false;
  const Axis &group = reduction.axes[rank - 2], &channel = reduction.axes[rank - 1];
  const std::int64_t lanes = std::max(4, target.vector_bits / 32);
  return is_constant(dag, *dag.find(roles.second->buffer)) && lanes % channel.extent == 0 &&
         channel.extent < lanes &&
         sole_axis(reduction, roles.second->indices[dims - 2]) == &group &&
         !register_tiles(tiled_shape(dag, true), target).empty();
}

}  // namespace fettle::space
