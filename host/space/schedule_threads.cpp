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

Result<void> Schedule::run(const PipelineStep& s) {
  Loop* loop = find_loop(s.stage, s.loop);
  if (!loop) return unfit("no such loop");
  if (!loop->reduce || loop->kind != ir::ForKind::Serial) return unfit("no serial reduction loop");
  if (s.stages < 1) return unfit("no stages");
  loop->pipeline = {s.stages, s.async};
  return {};
}

Result<void> Schedule::run(const ReadTexelsStep& s) {
  if (s.most < 1) return unfit("no texels");
  texels_ = s.most;
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

namespace {

// The axis that the loop is the innermost part of, and how long the loop is; 0: as the axis.
std::pair<ir::Var, std::int64_t> innermost_part(const StagePlan& plan, const Loop& loop) {
  std::pair<ir::Var, std::int64_t> part{loop.var, 0};
  for (auto relation = plan.relations.rbegin(); relation != plan.relations.rend(); ++relation) {
    const auto* split = std::get_if<SplitRelation>(&*relation);
    if (!split || split->inner != part.first) continue;
    if (part.second == 0) part.second = split->factor;
    part.first = split->parent;
  }
  return part;
}

// How many loops an execution takes the place of.
using Loops = Result<std::size_t>;

Loops fits_alone(const Stage& stage, const StagePlan& plan, const ir::IntrinsicRow& row,
                 const std::vector<const ir::Load*>& operands) {
  if (row.tile.m != 1 || row.tile.n != 1) return unfit("only a row of products is made of loops");
  const Loop& loop = plan.loops.back();
  if (!loop.reduce || loop.kind != ir::ForKind::Serial) {
    return unfit("the innermost loop is no serial reduction loop");
  }
  auto [axis, extent] = innermost_part(plan, loop);
  for (const Axis& reduced : stage.reduce_axes) {
    if (reduced.var == axis && extent == 0) extent = reduced.extent;
  }
  if (extent != row.tile.k) return unfit("the innermost loop is not as long as the instruction");
  for (const ir::Load* load : operands) {
    for (std::size_t d = 0; d < load->indices.size(); ++d) {
      const auto form = ir::affine_of(load->indices[d]);
      const std::int64_t step = d + 1 == load->indices.size() ? 1 : 0;
      if (!form || form->coefficient(axis) != step) {
        return unfit(load->buffer->name + " does not lie along the innermost loop");
      }
    }
  }
  return std::size_t{1};
}

// One loop for each of m, n and k that an operand lies along, in this order.
Loops fits_together(const Stage& stage, const StagePlan& plan, const ir::IntrinsicRow& row,
                    const std::vector<const ir::Load*>& operands) {
  struct Side {
    bool ir::Operand::* along;
    int length;
  };
  std::vector<Side> sides;
  for (const Side& side :
       {Side{&ir::Operand::along_m, row.tile.m}, Side{&ir::Operand::along_n, row.tile.n},
        Side{&ir::Operand::along_k, row.tile.k}}) {
    if (std::ranges::any_of(row.operands, side.along)) sides.push_back(side);
  }
  if (plan.loops.size() < sides.size()) return unfit("fewer loops than the instruction has sides");
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Loop& loop = plan.loops[plan.loops.size() - sides.size() + i];
    const auto [axis, extent] = innermost_part(plan, loop);
    const bool sums = sides[i].along == &ir::Operand::along_k && !stage.reduce_axes.empty();
    if (loop.kind != ir::ForKind::Serial || loop.reduce != sums || extent != sides[i].length) {
      return unfit("loop " + loop.name + " is not a side of the instruction's tile");
    }
    for (std::size_t o = 0; o < operands.size(); ++o) {
      std::int64_t moves = 0;
      for (const ir::Expr& index : operands[o]->indices) {
        const auto form = ir::affine_of(index);
        if (!form) return unfit("an operand at an index that is not affine");
        moves += form->coefficient(axis);
      }
      if (moves != (row.operands[o].*sides[i].along ? 1 : 0)) {
        return unfit(operands[o]->buffer->name + " does not lie along " + loop.name);
      }
    }
  }
  return sides.size();
}

}  // namespace

Result<void> Schedule::run(const TensorizeStep& s) {
  const int index = index_of(s.stage);
  const ir::IntrinsicRow* row = ir::find_intrinsic(s.row);
  if (index < 0 || dag_.stages[std::size_t(index)].placeholder()) return unfit("no such stage");
  if (!row) return unfit("no such instruction");
  const Stage& stage = dag_.stages[std::size_t(index)];
  StagePlan& plan = plans_[s.stage];
  const auto operands = ir::operands_of(*row, stage.body);
  if (stage.combiner != Combiner::Sum || !operands ||
      stage.body->type != row->accumulator().element->type) {
    return unfit("the stage does not compute what the instruction does");
  }
  const auto fit = row->threads == 1 ? fits_alone(stage, plan, *row, *operands)
                                     : fits_together(stage, plan, *row, *operands);
  if (!fit) return std::move(fit).error();
  if (!s.initial.empty()) {
    plan.initial = ir::find_intrinsic(s.initial);
    if (!plan.initial || plan.initial->operands.size() != 1) return unfit("no such beginning");
  }
  plan.instruction_loops = *fit;
  plan.instruction = row;
  return {};
}

}  // namespace fettle::space
