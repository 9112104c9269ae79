// Steps that rewrite the DAG itself: inline, cache_write, pack (schedule.h).
#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/rewrite.h"
#include "host/space/schedule.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error absent(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

}  // namespace

Result<void> Schedule::run(const InlineStep& s) {
  auto done = inline_stage(dag_, s.stage);
  if (!done) return done;
  plans_.erase(s.stage);
  return {};
}

Result<void> Schedule::run(const CacheWriteStep& s) {
  const int index = index_of(s.stage);
  if (index < 0 || dag_.stages[index].placeholder()) return absent("no such stage");
  compute_apart(dag_, s.stage, s.stage + ".local");
  plan_afresh(dag_.stages[std::size_t(index)]);
  plan_afresh(dag_.stages[std::size_t(index) + 1]);
  return {};
}

namespace {

// A factor's copy in tiles, and where each of its dimensions has come from.
struct Packed {
  Stage stage;
  std::vector<std::size_t> outer, before, after;  // dimensions of the factor

  // Its indices from the factor's and those of a tile.
  std::vector<ir::Expr> indices(const std::vector<ir::Expr>& from, const ir::Expr& tile,
                                const ir::Expr& in) const {
    std::vector<ir::Expr> at;
    for (const std::size_t d : outer) at.push_back(from[d]);
    at.push_back(tile);
    for (const std::size_t d : before) at.push_back(from[d]);
    at.push_back(in);
    for (const std::size_t d : after) at.push_back(from[d]);
    return at;
  }
};

Packed packed_copy(const Stage& factor, std::size_t place, const PackConstantStep& s) {
  Packed packed;
  const TiledAxis own = tile_axis(factor.axes[place], s.tile);
  std::vector<Axis> axes;
  std::vector<ir::Expr> source;
  for (std::size_t d = 0; d < factor.axes.size(); ++d) {
    const Axis& axis = factor.axes[d];
    axes.push_back({axis.name, ir::make_var(axis.name), axis.extent});
    source.push_back(d == place ? own.value : ir::var_ref(axes.back().var));
    if (d == place) continue;
    const bool first = std::find(s.outer.begin(), s.outer.end(), axis.name) != s.outer.end();
    (first ? packed.outer : d < place ? packed.before : packed.after).push_back(d);
  }
  Stage& stage = packed.stage;
  stage.name = s.constant + ".packed";
  for (const std::size_t d : packed.outer) stage.axes.push_back(axes[d]);
  stage.axes.push_back(own.tile);
  for (const std::size_t d : packed.before) stage.axes.push_back(axes[d]);
  stage.axes.push_back(own.in);
  for (const std::size_t d : packed.after) stage.axes.push_back(axes[d]);
  stage.body = ir::load(factor.buffer, source);
  stage.buffer = make_buffer(stage.name, factor.buffer->type, stage.axes);
  return packed;
}

// The stage runs over tiles of its axis number `place`; it is stored where it was.
TiledAxis run_over_tiles(Stage& stage, std::size_t place, std::int64_t tile) {
  if (stage.store_at.empty()) {
    for (const Axis& a : stage.axes) stage.store_at.push_back(ir::var_ref(a.var));
  }
  const auto axis = stage.axes.begin() + std::ptrdiff_t(place);
  TiledAxis tiled = tile_axis(*axis, tile);
  const ir::Substitution value{{axis->var, tiled.value}};
  for (ir::Expr& index : stage.store_at) index = ir::substitute(index, value);
  const auto at = stage.axes.erase(axis);
  stage.axes.insert(stage.axes.insert(at, tiled.in), tiled.tile);
  return tiled;
}

const ir::Var* sole_var(const ir::Expr& index) {
  const auto* ref = std::get_if<ir::VarRef>(&index->node);
  return ref ? &ref->var : nullptr;
}

}  // namespace

Result<void> Schedule::run(const PackConstantStep& s) {
  const int index = index_of(s.constant);
  if (index < 0) return absent("no such factor");
  const Stage factor = dag_.stages[index];
  const auto named = [&](const std::string& name) {
    return std::find_if(factor.axes.begin(), factor.axes.end(),
                        [&](const Axis& a) { return a.name == name; });
  };
  const auto own = named(s.axis);
  if (own == factor.axes.end()) return absent("not an axis of the factor");
  for (const std::string& name : s.outer) {
    if (named(name) == factor.axes.end() || name == s.axis) return absent("no such outer axis");
  }
  if (s.tile < 1 || s.tile > own->extent) return absent("tile outside the axis");
  const auto first = readers(factor.buffer);
  if (first.size() != 1) return absent("the factor has not one reader");
  const auto second = readers(dag_.stages[index_of(first[0])].buffer);
  if (second.size() != 1) return absent("the factor's reader has not one reader");
  Stage reduction = dag_.stages[index_of(first[0])], reader = dag_.stages[index_of(second[0])];

  // The reduction's axis that the factor is read by.
  const std::size_t dimension = std::size_t(own - factor.axes.begin());
  std::size_t place = reduction.axes.size();
  ir::walk(reduction.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    const ir::Var* var =
        load && load->buffer == factor.buffer ? sole_var(load->indices[dimension]) : nullptr;
    for (std::size_t d = 0; var && d < reduction.axes.size(); ++d) {
      if (reduction.axes[d].var == *var) place = d;
    }
  });
  if (place == reduction.axes.size() || reduction.axes[place].extent != own->extent ||
      reader.axes.size() <= place || reader.axes[place].extent != own->extent) {
    return absent("a stage does not run over that axis");
  }

  const Packed packed = packed_copy(factor, dimension, s);
  const ir::Buffer old_buffer = reduction.buffer;
  const ir::Var old_axis = reduction.axes[place].var, reader_axis = reader.axes[place].var;
  const TiledAxis tiled = run_over_tiles(reduction, place, s.tile);
  bool direct = true;
  reduction.body = ir::substitute(
      ir::replace_loads(reduction.body, factor.buffer,
                        [&](const ir::Load& load) {
                          const ir::Var* var = sole_var(load.indices[dimension]);
                          direct &= var && *var == old_axis;
                          return ir::load(packed.stage.buffer,
                                          packed.indices(load.indices, ir::var_ref(tiled.tile.var),
                                                         ir::var_ref(tiled.in.var)));
                        }),
      {{old_axis, tiled.value}});
  reduction.store_at.clear();
  reduction.buffer = make_buffer(reduction.name, old_buffer->type, reduction.axes);
  const TiledAxis reader_tiled = run_over_tiles(reader, place, s.tile);
  const auto to_tiles = [&](const ir::Load& load) {
    const std::vector<ir::Expr>& indices = load.indices;
    const ir::Var* var = sole_var(indices[place]);
    direct &= var && *var == reader_axis;
    std::vector<ir::Expr> at(indices.begin(), indices.begin() + std::ptrdiff_t(place));
    at.push_back(ir::var_ref(reader_tiled.tile.var));
    at.push_back(ir::var_ref(reader_tiled.in.var));
    at.insert(at.end(), indices.begin() + std::ptrdiff_t(place) + 1, indices.end());
    return ir::load(reduction.buffer, at);
  };
  reader.body = ir::substitute(ir::replace_loads(reader.body, old_buffer, to_tiles),
                               {{reader_axis, reader_tiled.value}});
  if (!direct) return absent("the axis is not read one to one");

  dag_.stages[index_of(first[0])] = reduction;
  dag_.stages[index_of(second[0])] = reader;
  dag_.stages.insert(dag_.stages.begin() + index + 1, packed.stage);
  plan_afresh(reduction);
  plan_afresh(reader);
  plan_afresh(packed.stage);
  return {};
}

}  // namespace fettle::space
