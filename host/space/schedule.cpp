// Applying steps to loop plans (schedule.h). Steps that rewrite the DAG are in
// schedule_rewrite.cpp.
#include "host/space/schedule.h"

#include <algorithm>

#include "host/ir/mutator.h"
#include "host/space/padding.h"
#include "host/space/rewrite.h"

namespace fettle::space {

namespace {

Error misfit(const Step& step, const std::string& what) {
  return Error{ErrorCode::InvalidArgument, "schedule step " + to_string(step) + ": " + what};
}

std::string join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return "[" + text + "]";
}

struct Words {
  std::string operator()(const InlineStep& s) { return "inline " + s.stage; }
  std::string operator()(const CacheWriteStep& s) { return "cache_write " + s.stage; }
  std::string operator()(const PackConstantStep& s) {
    return "pack " + s.constant + " " + s.axis + " by " + std::to_string(s.tile) +
           (s.outer.empty() ? "" : " in " + join(s.outer));
  }
  std::string operator()(const RfactorStep& s) {
    return "rfactor " + s.stage + "." + s.axis + " in " + std::to_string(s.parts) +
           (s.interleaved ? " interleaved" : "") + " parts by " + s.kind;
  }
  std::string operator()(const TileAxisStep& s) {
    return "tile " + s.stage + "." + s.axis + " by " + std::to_string(s.tile);
  }
  std::string operator()(const TransposeConstantStep& s) {
    return "transpose " + s.constant + " by " + s.axis;
  }
  std::string operator()(const ComputeAtStep& s) {
    return "compute " + s.stage + " at " + s.consumer + "." + s.loop + " in " +
           ir::row_of(s.scope).name;
  }
  std::string operator()(const SplitStep& s) {
    static const char* const tails[] = {"", ", tail guarded", ", tail padded"};
    return "split " + s.stage + "." + s.loop + " by " + std::to_string(s.factor) + " into " +
           s.outer + ", " + s.inner + tails[int(s.tail)];
  }
  std::string operator()(const FuseStep& s) {
    return "fuse " + s.stage + "." + join(s.loops) + " into " + s.fused;
  }
  std::string operator()(const ReorderStep& s) {
    return "reorder " + s.stage + "." + join(s.loops);
  }
  std::string operator()(const SkipZerosStep& s) {
    return "skip zeros of " + s.producer + " in " + s.stage + "." + s.loop;
  }
  std::string operator()(const AnnotateStep& s) {
    static const char* const kinds[] = {"serial", "unroll", "vectorize", "parallel", "bind"};
    return std::string(kinds[int(s.kind)]) + " " + s.stage + "." + s.loop;
  }
  std::string operator()(const BindStep& s) {
    return "bind " + s.stage + "." + s.loop + " to " + ir::row_of(s.axis).name;
  }
  std::string operator()(const CacheReadStep& s) {
    return "cache_read " + s.stage + " for " + s.reader + " as " + s.stage + "." + s.suffix;
  }
  std::string operator()(const TensorizeStep& s) { return "tensorize " + s.stage + " by " + s.row; }
  std::string operator()(const PipelineStep& s) {
    return "pipeline " + s.stage + "." + s.loop + " in " + std::to_string(s.stages) + " stages" +
           (s.async ? " of copies beside the threads" : "");
  }
  std::string operator()(const ReadTexelsStep& s) {
    return "read texels, at most " + std::to_string(s.most);
  }
};

}  // namespace

std::string to_string(const Step& step) { return std::visit(Words{}, step); }

Schedule::Schedule(ComputeDag dag) : dag_(std::move(dag)) {
  for (const Stage& stage : dag_.stages) {
    if (!stage.placeholder()) plan_afresh(stage);
  }
}

void Schedule::plan_afresh(const Stage& stage) {
  StagePlan plan;
  for (const Axis& axis : stage.axes) plan.loops.push_back({axis.name, axis.var});
  for (const Axis& axis : stage.reduce_axes) {
    plan.loops.push_back({axis.name, axis.var, ir::ForKind::Serial, true});
  }
  plans_[stage.name] = std::move(plan);
}

Result<void> Schedule::apply(const Step& step) {
  auto done = std::visit([&](const auto& s) { return run(s); }, step);
  if (!done) return misfit(step, done.error().message);
  steps_.push_back(step);
  return {};
}

int Schedule::index_of(const std::string& stage) const { return space::index_of(dag_, stage); }

Loop* Schedule::find_loop(const std::string& stage, const std::string& loop) {
  auto plan = plans_.find(stage);
  if (plan == plans_.end()) return nullptr;
  for (Loop& l : plan->second.loops) {
    if (l.name == loop) return &l;
  }
  return nullptr;
}

std::vector<std::string> Schedule::readers(const ir::Buffer& buffer) const {
  return readers_of(dag_, buffer);
}

namespace {
Error absent(const char* what) { return Error{ErrorCode::InvalidArgument, what}; }
}  // namespace

Result<void> Schedule::run(const ComputeAtStep& s) {
  const int stage = index_of(s.stage);
  const Loop* loop = find_loop(s.consumer, s.loop);
  if (stage < 0 || dag_.stages[stage].placeholder()) return absent("no such stage");
  if (!loop) return absent("no such loop");
  if (dag_.stages[stage].role == ir::Role::Output)
    return absent("an output is a launch of its own");
  if (!dag_.stages[stage].store_at.empty()) {
    return absent("a stage that is stored elsewhere than at its axes is a launch of its own");
  }
  if (index_of(s.consumer) <= stage) return absent("the consumer comes before the stage");
  StagePlan& plan = plans_[s.stage];
  plan.at = true;
  plan.consumer = s.consumer;
  plan.loop = loop->var;
  plan.scope = s.scope;
  return {};
}

namespace {

// Whether the value is defined whatever zeros are read in place of what is there.
bool is_defined_of_zeros(const ir::Expr& body) {
  bool defined = true;
  ir::walk(body, [&](const ir::Expr& e) {
    const auto* n = std::get_if<ir::Binary>(&e->node);
    defined &= !n || (n->op != ir::BinaryOp::Div && n->op != ir::BinaryOp::Mod);
    const auto* cast = std::get_if<ir::Cast>(&e->node);
    defined &= !cast || e->type.is_float() || !cast->value->type.is_float();
  });
  return defined;
}

}  // namespace

Result<void> Schedule::run(const SplitStep& s) {
  const Loop* loop = find_loop(s.stage, s.loop);
  if (!loop) return absent("no such loop");
  if (s.factor < 1) return absent("factor below 1");
  if (find_loop(s.stage, s.outer) || find_loop(s.stage, s.inner) || s.outer == s.inner) {
    return absent("a loop of that name exists");
  }
  StagePlan& plan = plans_[s.stage];
  if (s.tail == Tail::Pad) {
    const Stage& stage = dag_.stages[std::size_t(index_of(s.stage))];
    const auto& axes = loop->reduce ? stage.reduce_axes : stage.axes;
    const bool axis =
        std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.var == loop->var; });
    if (!axis) return absent("a padded loop must be an axis");
    if (!loop->reduce && (stage.role == ir::Role::Output || !stage.store_at.empty())) {
      return absent("the stage's storage cannot be padded");
    }
    if (!is_defined_of_zeros(stage.body)) return absent("zeros in padding have no value");
  }
  const Loop outer{s.outer, ir::make_var(s.outer), ir::ForKind::Serial, loop->reduce};
  const Loop inner{s.inner, ir::make_var(s.inner), ir::ForKind::Serial, loop->reduce};
  plan.relations.push_back(
      SplitRelation{loop->var, outer.var, inner.var, s.factor, loop->reduce, s.tail});
  const auto at = plan.loops.begin() + (loop - plan.loops.data());
  *at = outer;
  plan.loops.insert(at + 1, inner);
  return {};
}

Result<void> Schedule::run(const FuseStep& s) {
  if (s.loops.empty()) return absent("nothing to fuse");
  StagePlan& plan = plans_[s.stage];
  FuseRelation relation;
  std::ptrdiff_t first = -1;
  for (std::size_t i = 0; i < s.loops.size(); ++i) {
    const Loop* loop = find_loop(s.stage, s.loops[i]);
    if (!loop) return absent("no such loop");
    const std::ptrdiff_t at = loop - plan.loops.data();
    if (i == 0) first = at;
    if (at != first + std::ptrdiff_t(i))
      return absent("the loops are not neighbours in this order");
    if (loop->reduce) return absent("a reduction loop");
    relation.parts.push_back(loop->var);
  }
  relation.fused = ir::make_var(s.fused);
  const auto begin = plan.loops.begin() + first;
  *begin = Loop{s.fused, relation.fused};
  plan.loops.erase(begin + 1, begin + std::ptrdiff_t(s.loops.size()));
  plan.relations.push_back(std::move(relation));
  return {};
}

Result<void> Schedule::run(const ReorderStep& s) {
  std::vector<Loop> order;
  for (const std::string& name : s.loops) {
    const Loop* loop = find_loop(s.stage, name);
    if (!loop) return absent("no such loop");
    order.push_back(*loop);
  }
  StagePlan& plan = plans_[s.stage];
  for (const Loop& loop : plan.loops) {
    const auto same = [&](const Loop& l) { return l.var == loop.var; };
    const auto count = std::count_if(order.begin(), order.end(), same);
    if (count > 1) return absent("a loop is named twice");
    if (count == 0) order.push_back(loop);
  }
  plan.loops = std::move(order);
  return {};
}

Result<void> Schedule::run(const SkipZerosStep& s) {
  const int index = index_of(s.stage), from = index_of(s.producer);
  const Loop* loop = find_loop(s.stage, s.loop);
  if (index < 0 || from < 0) return absent("no such stage");
  if (!loop || !loop->reduce) return absent("no such reduction loop");
  const Stage& producer = dag_.stages[from];
  std::vector<ir::Expr> conditions = adds_nothing_unless(dag_.stages[index], producer);
  if (conditions.empty()) return absent("not a sum of products with zeros from there");
  plans_[s.stage].skips.push_back({loop->var, std::move(conditions)});
  return {};
}

Result<void> Schedule::run(const AnnotateStep& s) {
  Loop* loop = find_loop(s.stage, s.loop);
  if (!loop) return absent("no such loop");
  if (s.kind == ir::ForKind::Parallel) {
    if (loop != plans_[s.stage].loops.data())
      return absent("only the outermost loop can be parallel");
    if (loop->reduce) return absent("a reduction loop cannot be parallel");
  }
  if (s.kind == ir::ForKind::Bound)
    return absent("a loop is bound to an axis by a step of its own");
  if (s.kind == ir::ForKind::Vectorized && loop->reduce) {
    return absent("a reduction loop cannot be vectorised");
  }
  loop->kind = s.kind;
  return {};
}

}  // namespace fettle::space
