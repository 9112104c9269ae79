// Steps for blocks of threads, their memories and instructions with a shape (schedule.h).
#include <algorithm>

#include "host/ir/affine.h"
#include "host/ir/loads.h"
#include "host/space/operators/stages.h"
#include "host/space/schedule.h"

namespace fettle::space {

namespace {

Error unfit(const std::string& what) { return Error{ErrorCode::InvalidArgument, what}; }

}  // namespace

Result<void> Schedule::run(const BindStep& s) {
  Loop* loop = find_loop(s.stage, s.loop);
  if (!loop) return unfit("no such loop");
  if (s.axis == ir::ThreadAxis::None) return unfit("no axis");
  if (loop->reduce) return unfit("a reduction loop cannot be bound");
  for (const Loop& other : plans_[s.stage].loops) {
    if (&other != loop && other.axis == s.axis) return unfit("another loop is bound to it");
  }
  loop->kind = ir::ForKind::Bound;
  loop->axis = s.axis;
  return {};
}

Result<void> Schedule::run(const CacheReadStep& s) {
  const int from = index_of(s.stage), reader = index_of(s.reader);
  if (from < 0 || reader < 0) return unfit("no such stage");
  const Stage source = dag_.stages[std::size_t(from)];
  const auto users = readers(source.buffer);
  if (std::find(users.begin(), users.end(), s.reader) == users.end()) {
    return unfit("the reader does not read it");
  }
  const std::string name = s.stage + "." + s.suffix;
  if (index_of(name) >= 0) return unfit("a stage of that name exists");
  // By places in memory: a stage may be stored elsewhere than at its axes.
  std::vector<Axis> axes;
  std::vector<ir::Expr> at;
  for (std::size_t d = 0; d < source.buffer->shape.size(); ++d) {
    const bool named = source.axes.size() == source.buffer->shape.size();
    axes.push_back(
        make_axis(named ? source.axes[d].name : "d" + std::to_string(d), source.buffer->shape[d]));
    at.push_back(ir::var_ref(axes.back().var));
  }
  const Stage copy = make_stage(name, std::move(axes), {}, ir::load(source.buffer, at));
  Stage& user = dag_.stages[std::size_t(reader)];
  user.body = ir::replace_loads(user.body, source.buffer, [&](const ir::Load& load) {
    const ir::Expr& last = load.indices.back();
    return ir::load(copy.buffer, load.indices, load.predicate, last->type.lanes);
  });
  dag_.stages.insert(dag_.stages.begin() + reader, copy);
  plan_afresh(copy);
  return {};
}

Result<void> Schedule::run(const TensorizeStep& s) {
  const int index = index_of(s.stage);
  const ir::IntrinsicRow* row = ir::find_intrinsic(s.row);
  if (index < 0 || dag_.stages[std::size_t(index)].placeholder()) return unfit("no such stage");
  if (!row) return unfit("no such instruction");
  const Stage& stage = dag_.stages[std::size_t(index)];
  StagePlan& plan = plans_[s.stage];
  const auto operands = ir::operands_of(*row, stage.body);
  if (stage.combiner != Combiner::Sum || stage.reduce_axes.empty() || !operands ||
      stage.body->type != row->accumulator().packed) {
    return unfit("the stage does not compute what the instruction does");
  }
  if (row->tile.m != 1 || row->tile.n != 1) return unfit("only a row of products is made of loops");
  const Loop& loop = plan.loops.back();
  if (!loop.reduce || loop.kind != ir::ForKind::Serial) {
    return unfit("the innermost loop is no serial reduction loop");
  }
  // The axis that the loop is the innermost part of, and how long the loop is.
  ir::Var axis = loop.var;
  std::int64_t extent = 0;
  for (auto relation = plan.relations.rbegin(); relation != plan.relations.rend(); ++relation) {
    const auto* split = std::get_if<SplitRelation>(&*relation);
    if (!split || split->inner != axis) continue;
    if (extent == 0) extent = split->factor;
    axis = split->parent;
  }
  for (const Axis& reduced : stage.reduce_axes) {
    if (reduced.var == axis && extent == 0) extent = reduced.extent;
  }
  if (extent != row->tile.k) return unfit("the innermost loop is not as long as the instruction");
  for (const ir::Load* load : *operands) {
    for (std::size_t d = 0; d < load->indices.size(); ++d) {
      const auto form = ir::affine_of(load->indices[d]);
      const std::int64_t step = d + 1 == load->indices.size() ? 1 : 0;
      if (!form || form->coefficient(axis) != step) {
        return unfit(load->buffer->name + " does not lie along the innermost loop");
      }
    }
  }
  plan.instruction = row;
  return {};
}

}  // namespace fettle::space
