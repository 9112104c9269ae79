// The step that cuts an axis of several stages into tiles, in memory too (schedule.h).
#include <algorithm>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/space/rewrite.h"
#include "host/space/schedule.h"
#include "host/space/tiled_axis.h"

namespace fettle::space {

namespace {

Error unfit(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }

// A stage before its axis number `dimension` was cut.
struct Cut {
  ir::Buffer before, after;
  std::size_t dimension;
  bool outermost;  // tiles are, and their elements innermost

  std::vector<ir::Expr> indices(std::vector<ir::Expr> at, const TiledAxis& axis) const {
    const ir::Expr tile = ir::var_ref(axis.tile.var), in = ir::var_ref(axis.in.var);
    const auto place = at.begin() + std::ptrdiff_t(dimension);
    if (outermost) {
      at.erase(place);
      at.insert(at.begin(), tile);
      at.push_back(in);
    } else {
      *place = tile;
      at.insert(place + 1, in);
    }
    return at;
  }
};

// The stage's axis that alone indexes what it reads of cut axes; its rank: it reads none.
Result<std::size_t> axis_along(const Stage& stage, const std::vector<Cut>& cuts) {
  std::size_t along = stage.axes.size();
  bool fits = true;
  ir::walk(stage.body, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    if (!load) return;
    for (const Cut& cut : cuts) {
      if (load->buffer != cut.before) continue;
      std::size_t d = 0;
      while (d < stage.axes.size() && !is_var(load->indices[cut.dimension], stage.axes[d].var)) {
        ++d;
      }
      fits &= d < stage.axes.size() && (along == stage.axes.size() || along == d) &&
              stage.axes[d].extent == load->buffer->shape[cut.dimension];
      along = d;
    }
  });
  if (!fits) return unfit("a stage does not read it by an axis of its own alone");
  return along;
}

}  // namespace

Result<void> Schedule::run(const TileAxisStep& s) {
  const int first = index_of(s.stage);
  if (first < 0 || dag_.stages[std::size_t(first)].placeholder()) return unfit("no such stage");
  std::vector<Stage> stages = dag_.stages;
  std::vector<Cut> cuts;
  std::vector<std::size_t> changed;
  for (std::size_t i = std::size_t(first); i < stages.size(); ++i) {
    Stage& stage = stages[i];
    if (stage.placeholder()) continue;
    std::size_t place = stage.axes.size();
    if (i == std::size_t(first)) {
      const auto own = std::find_if(stage.axes.begin(), stage.axes.end(),
                                    [&](const Axis& axis) { return axis.name == s.axis; });
      if (own == stage.axes.end()) return unfit("no such axis");
      if (s.tile < 1 || s.tile > own->extent) return unfit("tile outside the axis");
      place = std::size_t(own - stage.axes.begin());
    } else {
      auto along = axis_along(stage, cuts);
      if (!along) return std::move(along).error();
      place = *along;
    }
    if (place == stage.axes.size()) continue;
    const bool output = stage.role == ir::Role::Output;
    if (!output && !stage.store_at.empty()) return unfit("a stage that is stored elsewhere");

    const Axis old = stage.axes[place];
    const TiledAxis tiled = tile_axis(old, s.tile);
    for (const Cut& cut : cuts) {
      stage.body = ir::replace_loads(stage.body, cut.before, [&](const ir::Load& load) {
        return ir::load(cut.after, cut.indices(load.indices, tiled), load.predicate);
      });
    }
    const ir::Substitution value{{old.var, tiled.value}};
    stage.body = ir::substitute(stage.body, value);
    if (output && stage.store_at.empty()) stage.store_at = refs(stage.axes);
    for (ir::Expr& index : stage.store_at) index = ir::substitute(index, value);
    const bool outermost = is_constant(dag_, dag_.stages[i]);
    const auto at = stage.axes.erase(stage.axes.begin() + std::ptrdiff_t(place));
    if (outermost) {
      stage.axes.insert(stage.axes.begin(), tiled.tile);
      stage.axes.push_back(tiled.in);
    } else {
      stage.axes.insert(stage.axes.insert(at, tiled.in), tiled.tile);
    }
    const ir::Buffer before = stage.buffer;
    if (!output) stage.buffer = make_buffer(stage.name, before->type, stage.axes);
    cuts.push_back({before, stage.buffer, place, outermost});
    changed.push_back(i);
  }
  dag_.stages = std::move(stages);
  for (const std::size_t i : changed) plan_afresh(dag_.stages[i]);
  return {};
}

}  // namespace fettle::space
