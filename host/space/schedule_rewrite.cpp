// Steps that rewrite the DAG itself: inline, cache_write, pack (schedule.h).
#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/schedule.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error absent(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

}  // namespace

Result<void> Schedule::run(const InlineStep& s) {
  const int index = index_of(s.stage);
  if (index < 0 || dag_.stages[index].placeholder()) return absent("no such stage");
  const Stage stage = dag_.stages[index];
  if (!stage.reduce_axes.empty()) return absent("a reduction cannot be inlined");
  if (stage.role == ir::Role::Output) return absent("an output cannot be inlined");
  const auto value_at = [&](const ir::Load& load) {
    ir::Substitution values;
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      values[stage.axes[d].var] = load.indices[d];
    }
    const ir::Expr value = ir::substitute(stage.body, values);
    if (!load.predicate) return value;
    // What the value reads may not be there where it is not needed.
    const auto all = [](const ir::Load&) { return true; };
    return ir::select(load.predicate, ir::guard_loads(value, load.predicate, all),
                      ir::zero_of(value->type));
  };
  for (Stage& other : dag_.stages) {
    if (other.body) other.body = ir::replace_loads(other.body, stage.buffer, value_at);
  }
  dag_.stages.erase(dag_.stages.begin() + index);
  plans_.erase(s.stage);
  return {};
}

Result<void> Schedule::run(const CacheWriteStep& s) {
  const int index = index_of(s.stage);
  if (index < 0 || dag_.stages[index].placeholder()) return absent("no such stage");
  Stage copy = dag_.stages[index];
  Stage local = copy;
  local.name += ".local";
  local.buffer = make_buffer(local.name, copy.buffer->type, copy.axes);
  local.role = ir::Role::Scratch;
  local.store_at.clear();
  std::vector<ir::Expr> indices;
  ir::Substitution renamed;
  for (Axis& axis : copy.axes) {
    const ir::Var old = axis.var;
    axis.var = ir::make_var(axis.name);
    indices.push_back(ir::var_ref(axis.var));
    renamed[old] = indices.back();
  }
  for (ir::Expr& index_expr : copy.store_at) index_expr = ir::substitute(index_expr, renamed);
  copy.reduce_axes.clear();
  copy.combiner = Combiner::Sum;
  copy.body = ir::load(local.buffer, indices);
  dag_.stages[index] = local;
  dag_.stages.insert(dag_.stages.begin() + index + 1, copy);
  plan_afresh(local);
  plan_afresh(copy);
  return {};
}

Result<void> Schedule::run(const PackConstantStep& s) {
  const int index = index_of(s.constant);
  if (index < 0 || !is_constant(dag_, dag_.stages[index])) return absent("no such constant");
  const Stage constant = dag_.stages[index];
  const Axis& last = constant.axes.back();
  if (last.name != s.axis) return absent("not the constant's last axis");
  if (s.tile < 1 || s.tile > last.extent) return absent("tile outside the axis");
  const auto first = readers(constant.buffer);
  if (first.size() != 1) return absent("the constant has not one reader");
  const auto second = readers(dag_.stages[index_of(first[0])].buffer);
  if (second.size() != 1) return absent("the constant's reader has not one reader");

  // The copy, made by a launch of its own.
  Stage packed;
  packed.name = s.constant + ".packed";
  std::vector<ir::Expr> source;
  const TiledAxis own = tile_axis(last, s.tile);
  packed.axes.push_back(own.tile);
  for (std::size_t d = 0; d + 1 < constant.axes.size(); ++d) {
    const Axis axis{constant.axes[d].name, ir::make_var(constant.axes[d].name),
                    constant.axes[d].extent};
    source.push_back(ir::var_ref(axis.var));
    packed.axes.push_back(axis);
  }
  packed.axes.push_back(own.in);
  source.push_back(own.value);
  packed.body = ir::load(constant.buffer, source);
  packed.buffer = make_buffer(packed.name, constant.buffer->type, packed.axes);

  // The reduction and its reader run over tiles; the reduction's buffer has them as axes.
  const auto tile_stage = [&](Stage& stage) -> Result<TiledAxis> {
    const auto axis = std::find_if(stage.axes.begin(), stage.axes.end(),
                                   [&](const Axis& a) { return a.name == s.axis; });
    if (axis == stage.axes.end() || axis->extent != last.extent) {
      return absent("a stage does not run over that axis");
    }
    if (stage.store_at.empty()) {
      for (const Axis& a : stage.axes) stage.store_at.push_back(ir::var_ref(a.var));
    }
    TiledAxis tiled = tile_axis(*axis, s.tile);
    const ir::Substitution value{{axis->var, tiled.value}};
    for (ir::Expr& index_expr : stage.store_at) index_expr = ir::substitute(index_expr, value);
    const auto at = stage.axes.erase(axis);
    stage.axes.insert(stage.axes.insert(at, tiled.in), tiled.tile);
    return tiled;
  };
  Stage reduction = dag_.stages[index_of(first[0])], reader = dag_.stages[index_of(second[0])];
  const ir::Buffer old_buffer = reduction.buffer;
  const ir::Var old_axis =
      std::find_if(reduction.axes.begin(), reduction.axes.end(), [&](const Axis& a) {
        return a.name == s.axis;
      })->var;
  const std::size_t place =
      std::size_t(std::find_if(reduction.axes.begin(), reduction.axes.end(),
                               [&](const Axis& a) { return a.var == old_axis; }) -
                  reduction.axes.begin());
  auto tiled = tile_stage(reduction);
  if (!tiled) return std::move(tiled).error();
  bool direct = true;
  const auto to_packed = [&](const ir::Load& load) {
    const auto* ref = std::get_if<ir::VarRef>(&load.indices.back()->node);
    direct &= ref && ref->var == old_axis;
    std::vector<ir::Expr> at{ir::var_ref(tiled->tile.var)};
    at.insert(at.end(), load.indices.begin(), load.indices.end() - 1);
    at.push_back(ir::var_ref(tiled->in.var));
    return ir::load(packed.buffer, at);
  };
  reduction.body = ir::substitute(ir::replace_loads(reduction.body, constant.buffer, to_packed),
                                  {{old_axis, tiled->value}});
  reduction.store_at.clear();
  reduction.buffer = make_buffer(reduction.name, old_buffer->type, reduction.axes);
  if (reader.axes.size() <= place || reader.axes[place].name != s.axis) {
    return absent("the reader does not run over that axis");
  }
  const ir::Var reader_axis = reader.axes[place].var;
  auto reader_tiled = tile_stage(reader);
  if (!reader_tiled) return std::move(reader_tiled).error();
  const auto to_tiles = [&](const ir::Load& load) {
    const std::vector<ir::Expr>& indices = load.indices;
    const auto* ref = std::get_if<ir::VarRef>(&indices[place]->node);
    direct &= ref && ref->var == reader_axis;
    std::vector<ir::Expr> at(indices.begin(), indices.begin() + std::ptrdiff_t(place));
    at.push_back(ir::var_ref(reader_tiled->tile.var));
    at.push_back(ir::var_ref(reader_tiled->in.var));
    at.insert(at.end(), indices.begin() + std::ptrdiff_t(place) + 1, indices.end());
    return ir::load(reduction.buffer, at);
  };
  reader.body = ir::substitute(ir::replace_loads(reader.body, old_buffer, to_tiles),
                               {{reader_axis, reader_tiled->value}});
  if (!direct) return absent("the axis is not read one to one");

  dag_.stages[index_of(first[0])] = reduction;
  dag_.stages[index_of(second[0])] = reader;
  dag_.stages.insert(dag_.stages.begin() + index + 1, packed);
  plan_afresh(reduction);
  plan_afresh(reader);
  plan_afresh(packed);
  return {};
}

}  // namespace fettle::space
