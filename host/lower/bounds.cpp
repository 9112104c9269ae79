// Bounds inference (bounds.h): consumers first, so that what is read of a
// producer is known when its turn comes.
#include "host/lower/bounds.h"

#include <algorithm>
#include <set>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/ir/simplify.h"
#include "host/lower/simplify_quotients.h"
#include "host/space/fused_axes.h"

namespace fettle::lower {

using space::Axis;
using space::Stage;
using space::StagePlan;

namespace {

Error unfit(const Stage& stage, const std::string& what) {
  return Error{ErrorCode::InvalidArgument, "stage " + stage.name + ": " + what};
}

class Inference {
 public:
  explicit Inference(const space::Schedule& schedule) : schedule_(schedule) {
    for (const Stage& reader : schedule.dag().stages) {
      ir::walk(reader.body, [&](const ir::Expr& e) {
        const auto* load = std::get_if<ir::Load>(&e->node);
        if (load) readings_[load->buffer].push_back({&reader, load});
      });
    }
  }

  Result<Bounds> run() {
    const auto& stages = schedule_.dag().stages;
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
      if (stage->placeholder()) continue;
      StageBounds bounds;
      past_end_.clear();
      auto region = schedule_.plan(*stage).at ? read_region(*stage, bounds) : whole(*stage, bounds);
      if (!region) return std::move(region).error();
      auto looped = bound_loops(*stage, bounds);
      if (!looped) return std::move(looped).error();
      out_.stages[stage->name] = std::move(bounds);
    }
    return std::move(out_);
  }

 private:
  Result<void> whole(const Stage& stage, StageBounds& bounds) {
    for (const Axis& axis : stage.axes) {
      bounds.base.emplace_back();
      bounds.extents.push_back(axis.extent);
    }
    return {};
  }

  ir::Sharing sharing(const Stage& stage) const {
    return ir::row_of(schedule_.plan(stage).scope).sharing;
  }

  // Variables that have a value where the stage is computed: the loops of its
  // consumer down to the one it is computed in, and what is around the consumer. A stage that
  // a block's threads share is computed for all of them: their loops move.
  std::set<ir::Var> around(const Stage& stage) const {
    const bool shared = sharing(stage) == ir::Sharing::Block;
    std::set<ir::Var> vars;
    const Stage* at = &stage;
    while (schedule_.plan(*at).at) {
      const StagePlan& plan = schedule_.plan(*at);
      const StageBounds& consumer = out_.stages.at(plan.consumer);
      for (const BoundLoop& loop : consumer.loops) {
        if (!shared || !ir::within_block(loop.axis)) vars.insert(loop.var);
        if (loop.var == plan.loop) break;
      }
      bool changed = true;
      while (changed) {
        changed = false;
        for (const Definition& d : consumer.definitions) {
          bool known = true;
          ir::walk(d.value, [&](const ir::Expr& e) {
            if (const auto* ref = std::get_if<ir::VarRef>(&e->node))
              known &= vars.count(ref->var) > 0;
          });
          if (known) changed |= vars.insert(d.var).second;
        }
      }
      at = schedule_.dag().find(plan.consumer);
    }
    return vars;
  }

  // Empty: the index is not affine.
  std::optional<ir::Affine> form_of(const ir::Expr& index) const {
    auto form = ir::affine_of(index);
    if (!form) form = ir::affine_of(ir::simplify(index));
    if (!form) form = ir::affine_of(ir::simplify(quotients_simplified(index, out_.ranges)));
    return form;
  }

  Result<void> read_region(const Stage& stage, StageBounds& bounds) {
    const std::set<ir::Var> outer = around(stage);
    const std::size_t rank = stage.axes.size();
    std::vector<ir::Interval> inside(rank);
    std::vector<bool> beyond(rank, false);
    bool first = true;
    std::string problem;
    for (const Reading& reading : readings_[stage.buffer]) {
      const auto known = out_.stages.find(reading.reader->name);
      if (known == out_.stages.end()) continue;
      const ir::Load& load = *reading.load;
      bool affine = true;
      for (std::size_t d = 0; affine && d < rank; ++d) {
        const auto* vector = std::get_if<ir::Ramp>(&load.indices[d]->node);
        const auto form = form_of(
            ir::substitute(vector ? vector->base : load.indices[d], known->second.axis_values));
        if (!form) {
          problem = "is read at an index that is not affine";
          affine = false;
          continue;
        }
        auto [fixed, moving] = ir::parts_of(*form, [&](const ir::Var& var) {
          if (beyond_.count(var)) beyond[d] = true;
          if (outer.count(var)) return std::optional<ir::Interval>();
          if (const char* others = seen_by_others(stage, var)) problem = others;
          return std::optional(out_.ranges.at(var));
        });
        if (vector) moving.high += vector->stride * (load.indices[d]->type.lanes - 1);
        if (first) {
          bounds.base.push_back(fixed);
          inside[d] = moving;
        } else {
          ir::Affine difference = fixed;
          difference.add(bounds.base[d], -1);
          if (!difference.terms.empty()) problem = "is read in two places that move apart";
          inside[d] = {std::min(inside[d].low, moving.low), std::max(inside[d].high, moving.high)};
        }
      }
      first &= !affine;
    }
    if (first) problem = "is not read by its consumer";
    if (!problem.empty()) return unfit(stage, problem);
    for (std::size_t d = 0; d < rank; ++d) {
      bounds.base[d].constant += inside[d].low;
      bounds.extents.push_back(inside[d].high - inside[d].low + 1);
      if (beyond[d]) past_end_.push_back(d);
    }
    return {};
  }

  // Why a stage must not be kept where it is, when it is read at this variable's values.
  const char* seen_by_others(const Stage& stage, const ir::Var& var) const {
    const bool own = sharing(stage) == ir::Sharing::Thread || sharing(stage) == ir::Sharing::Warp;
    if (own && by_threads_.count(var)) {
      return "is kept by one thread and read by others";
    }
    return by_blocks_.count(var) ? "is kept in one block and read by others" : nullptr;
  }

  // Loops that are bound where they cannot be.
  Result<void> check_bound(const Stage& stage) const {
    const StagePlan& plan = schedule_.plan(stage);
    bool threads = false;  // around the stage or in it
    for (const space::Loop& loop : plan.loops) {
      threads |= loop.axis != ir::ThreadAxis::None;
      if (!plan.at || loop.axis == ir::ThreadAxis::None) continue;
      if (sharing(stage) != ir::Sharing::Block || !ir::within_block(loop.axis)) {
        return unfit(stage, "loop " + loop.name + " is bound to " + ir::row_of(loop.axis).name +
                                ", in a stage that one thread computes");
      }
    }
    for (const Stage* at = &stage; schedule_.plan(*at).at;) {
      at = schedule_.dag().find(schedule_.plan(*at).consumer);
      for (const space::Loop& loop : schedule_.plan(*at).loops) {
        threads |= loop.axis != ir::ThreadAxis::None;
      }
    }
    if (plan.at && plan.scope == ir::Scope::BlockShared && !threads) {
      return unfit(stage, "is shared by the threads of a block, and there are no blocks");
    }
    if (plan.at && plan.scope == ir::Scope::Global && threads) {
      return unfit(stage, "a scratch area per thread of a CPU, inside blocks");
    }
    return {};
  }

  // Loops that `part` has become, and itself.
  static std::set<ir::Var> made_of(const StagePlan& plan, const ir::Var& part) {
    std::set<ir::Var> parts{part};
    for (const space::Relation& relation : plan.relations) {
      if (const auto* split = std::get_if<space::SplitRelation>(&relation)) {
        if (parts.count(split->parent)) parts.insert({split->outer, split->inner});
      } else {
        const auto& fuse = std::get<space::FuseRelation>(relation);
        for (const ir::Var& from : fuse.parts) {
          if (parts.count(from)) parts.insert(fuse.fused);
        }
      }
    }
    return parts;
  }
  // Whether one of them stands inside a reduction loop.
  static bool is_inside_reduction(const StagePlan& plan, const ir::Var& part) {
    const std::set<ir::Var> parts = made_of(plan, part);
    bool reduction = false;
    for (const space::Loop& loop : plan.loops) {
      if (reduction && parts.count(loop.var)) return true;
      reduction |= loop.reduce;
    }
    return false;
  }

  // Whether threads divide one of them among each other, which all see the stage's values.
  static bool is_shared_by_threads(const StagePlan& plan, const ir::Var& part) {
    const std::set<ir::Var> parts = made_of(plan, part);
    return !plan.at && std::any_of(plan.loops.begin(), plan.loops.end(), [&](const auto& loop) {
      return loop.kind == ir::ForKind::Parallel && parts.count(loop.var) != 0;
    });
  }

  // Computed only where value < extent; its variables may be beyond that, and so what is
  // computed for their values.
  void guard(const ir::Expr& value, std::int64_t extent, StageBounds& bounds) {
    bounds.guards.push_back(ir::binary(ir::BinaryOp::Lt, value, ir::int_imm(extent)));
    mark_beyond(value);
  }
  void mark_beyond(const ir::Expr& value) {
    ir::walk(value, [&](const ir::Expr& e) {
      if (const auto* ref = std::get_if<ir::VarRef>(&e->node)) beyond_.insert(ref->var);
    });
  }

  // To a multiple of the padded split of that axis, if there is one.
  static std::int64_t rounded_up(const StagePlan& plan, const ir::Var& axis, std::int64_t extent) {
    for (const space::Relation& relation : plan.relations) {
      const auto* split = std::get_if<space::SplitRelation>(&relation);
      if (!split || split->parent != axis || split->tail != space::Tail::Pad) continue;
      return (extent + split->factor - 1) / split->factor * split->factor;
    }
    return extent;
  }

  // Longer storage, and where its elements are none of the stage's.
  void pad(const Stage& stage, StageBounds& bounds) {
    const StagePlan& plan = schedule_.plan(stage);
    const auto is_beyond = [&](const Axis& axis) {
      bounds.inside.push_back(
          ir::binary(ir::BinaryOp::Lt, ir::var_ref(axis.var), ir::int_imm(axis.extent)));
    };
    for (std::size_t d = 0; d < stage.axes.size(); ++d) {
      const std::int64_t padded = rounded_up(plan, stage.axes[d].var, bounds.extents[d]);
      if (padded != bounds.extents[d]) is_beyond(stage.axes[d]);
      bounds.extents[d] = padded;
    }
    for (const Axis& axis : stage.reduce_axes) {
      if (rounded_up(plan, axis.var, axis.extent) != axis.extent) is_beyond(axis);
    }
  }

  Result<void> bound_loops(const Stage& stage, StageBounds& bounds) {
    const StagePlan& plan = schedule_.plan(stage);
    if (auto fit = check_bound(stage); !fit) return fit;
    pad(stage, bounds);
    std::map<ir::Var, std::int64_t> extents;
    for (std::size_t d = 0; d < stage.axes.size(); ++d)
      extents[stage.axes[d].var] = bounds.extents[d];
    for (const Axis& axis : stage.reduce_axes) {
      extents[axis.var] = rounded_up(plan, axis.var, axis.extent);
    }

    // Downward: extents of what loops were made into.
    for (const space::Relation& relation : plan.relations) {
      if (const auto* split = std::get_if<space::SplitRelation>(&relation)) {
        const std::int64_t extent = extents.at(split->parent);
        const bool overlaps = split->tail == space::Tail::Overlap;
        if (overlaps && split->factor > extent) {
          return unfit(stage, "loop " + split->parent->name + " of " + std::to_string(extent) +
                                  " split by " + std::to_string(split->factor));
        }
        if (overlaps && split->reduce && extent % split->factor != 0) {
          return unfit(stage, "reduction loop " + split->parent->name + " of " +
                                  std::to_string(extent) + " split by " +
                                  std::to_string(split->factor));
        }
        if (overlaps && extent % split->factor != 0 && is_inside_reduction(plan, split->outer)) {
          return unfit(stage, "tiles of loop " + split->parent->name +
                                  " overlap inside a reduction loop, which would add twice");
        }
        if (overlaps && extent % split->factor != 0 && !stage.reduce_axes.empty() &&
            is_shared_by_threads(plan, split->outer)) {
          return unfit(stage, "tiles of loop " + split->parent->name +
                                  " overlap between threads, which would add to one sum together");
        }
        extents[split->outer] = (extent + split->factor - 1) / split->factor;
        extents[split->inner] = split->factor;
      } else {
        const auto& fuse = std::get<space::FuseRelation>(relation);
        std::int64_t product = 1;
        for (const ir::Var& part : fuse.parts) product *= extents.at(part);
        extents[fuse.fused] = product;
      }
    }
    for (const space::Loop& loop : plan.loops) {
      bounds.loops.push_back(
          {loop.var, extents.at(loop.var), loop.kind, loop.reduce, loop.axis, loop.pipeline});
      if (loop.axis != ir::ThreadAxis::None) {
        (ir::within_block(loop.axis) ? by_threads_ : by_blocks_).insert(loop.var);
      }
      out_.ranges[loop.var] = {0, extents.at(loop.var) - 1};
    }

    // Upward: values of what was split or fused, from the last step to the first.
    ir::Substitution values;
    const auto value_of = [&](const ir::Var& var) {
      auto it = values.find(var);
      return it == values.end() ? ir::var_ref(var) : it->second;
    };
    for (auto relation = plan.relations.rbegin(); relation != plan.relations.rend(); ++relation) {
      if (const auto* split = std::get_if<space::SplitRelation>(&*relation)) {
        const std::int64_t extent = extents.at(split->parent);
        ir::Expr begin = value_of(split->outer) * ir::int_imm(split->factor);
        if (extent % split->factor != 0 && split->tail == space::Tail::Overlap) {
          const ir::Var start = ir::make_var(split->parent->name + ".begin");
          bounds.definitions.push_back(
              {start, ir::binary(ir::BinaryOp::Min, begin, ir::int_imm(extent - split->factor))});
          out_.ranges[start] = {0, extent - split->factor};
          begin = ir::var_ref(start);
        }
        values[split->parent] = begin + value_of(split->inner);
        if (extent % split->factor != 0 && split->tail == space::Tail::Guard) {
          guard(values[split->parent], extent, bounds);
        }
        continue;
      }
      const auto& fuse = std::get<space::FuseRelation>(*relation);
      std::vector<std::int64_t> of_parts;
      for (const ir::Var& part : fuse.parts) of_parts.push_back(extents.at(part));
      const auto parts = space::parts_of_fused(value_of(fuse.fused), of_parts);
      for (std::size_t i = parts.size(); i-- > 0;) {
        bounds.definitions.push_back({fuse.parts[i], parts[i]});
        out_.ranges[fuse.parts[i]] = {0, of_parts[i] - 1};
      }
    }
    // A definition moves with what it is made of; those come first.
    for (const Definition& d : bounds.definitions) {
      for (std::set<ir::Var>* moving : {&by_threads_, &by_blocks_}) {
        const bool moves = std::any_of(moving->begin(), moving->end(), [&](const ir::Var& var) {
          return ir::mentions(d.value, var);
        });
        if (moves) moving->insert(d.var);
      }
    }
    for (std::size_t d = 0; d < stage.axes.size(); ++d) {
      bounds.axis_values[stage.axes[d].var] =
          ir::simplify(bounds.base[d].expr() + value_of(stage.axes[d].var));
    }
    // What its readers' tails have no use for.
    for (const std::size_t d : past_end_) {
      const ir::Expr& value = bounds.axis_values.at(stage.axes[d].var);
      guard(value, stage.axes[d].extent, bounds);
      bounds.guards.push_back(ir::binary(ir::BinaryOp::Le, ir::int_imm(0), value));
    }
    for (const Axis& axis : stage.reduce_axes) {
      bounds.axis_values[axis.var] = ir::simplify(value_of(axis.var));
    }
    if (plan.instruction) {
      bool tail = false;
      for (std::size_t i = 1; i <= plan.instruction_loops; ++i) {
        const ir::Var& part = bounds.loops[bounds.loops.size() - i].var;
        tail |= std::any_of(bounds.guards.begin(), bounds.guards.end(),
                            [&](const ir::Expr& g) { return ir::mentions(g, part); });
      }
      if (tail || !bounds.inside.empty()) return unfit(stage, "a tail in an instruction's loop");
    }
    for (const ir::Expr& inside : bounds.inside) {
      mark_beyond(ir::substitute(inside, bounds.axis_values));
    }
    return {};
  }

  struct Reading {
    const Stage* reader;
    const ir::Load* load;  // of the reader's body
  };

  const space::Schedule& schedule_;
  std::map<ir::Buffer, std::vector<Reading>> readings_;
  Bounds out_;
  std::set<ir::Var> by_threads_, by_blocks_;  // that differ between a block's threads, and blocks
  std::set<ir::Var> beyond_;           // loop variables with which an axis may be past its end
  std::vector<std::size_t> past_end_;  // axes of the stage at hand that are read there
};

}  // namespace

bool defined(const ir::Expr& value, const std::set<ir::Var>& known, const StageBounds& bounds) {
  bool all = true;
  ir::walk(value, [&](const ir::Expr& e) {
    const auto* ref = std::get_if<ir::VarRef>(&e->node);
    if (!ref || known.count(ref->var)) return;
    for (const BoundLoop& l : bounds.loops) all &= l.var != ref->var;
    for (const Definition& d : bounds.definitions) all &= d.var != ref->var;
  });
  return all;
}

Result<Bounds> infer_bounds(const space::Schedule& schedule) { return Inference(schedule).run(); }

}  // namespace fettle::lower
