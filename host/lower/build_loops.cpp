// Building loop nests (build_loops.h).
#include "host/lower/build_loops.h"

#include <algorithm>
#include <limits>
#include <set>

#include "host/ir/loads.h"
#include "host/ir/mutator.h"
#include "host/ir/simplify.h"
#include "host/lower/instruction_call.h"
#include "host/lower/skip_zeros.h"
#include "host/lower/tails.h"
#include "host/lower/thread_blocks.h"

namespace fettle::lower {

using space::Stage;
using space::StagePlan;

namespace {

// Where a stage's elements are kept: the buffer, and the dimensions before its own.
struct Place {
  ir::Buffer buffer;
  std::vector<ir::Expr> prefix;
};

class Builder {
 public:
  Builder(const space::Schedule& schedule, const Bounds& bounds, int threads)
      : schedule_(schedule), dag_(schedule.dag()), bounds_(bounds), workers_(threads) {}

  Result<ir::Module> run() {
    declare_buffers();
    for (const ir::ProgramBuffer& b : module_.buffers) {
      if (b.buffer->elements() <= std::numeric_limits<std::int32_t>::max()) continue;
      return Error{ErrorCode::InvalidArgument, "buffer " + b.buffer->name + " would have " +
                                                   std::to_string(b.buffer->elements()) +
                                                   " elements, more than indices of int32 reach"};
    }
    std::set<ir::Buffer> constant;  // known when the program is loaded
    for (const Stage& stage : dag_.stages) {
      if (stage.placeholder() && stage.role == ir::Role::Constant) constant.insert(stage.buffer);
    }
    for (const Stage& stage : dag_.stages) {
      if (stage.placeholder() || schedule_.plan(stage).at) continue;
      ir::Function function = build_function(stage);
      ir::Launch launch;
      launch.function = int(module_.functions.size());
      launch.prepare = stage.role != ir::Role::Output;
      for (std::size_t i = 0; i < function.params.size(); ++i) {
        const ir::Buffer& param = function.params[i];
        launch.buffers.push_back(index_of(param));
        if (!function.written[i]) launch.prepare &= constant.count(param) > 0;
      }
      if (auto met = check_barriers(function); !met) return std::move(met).error();
      if (launch.prepare) constant.insert(places_.at(stage.buffer).buffer);
      module_.functions.push_back(std::move(function));
      module_.launches.push_back(std::move(launch));
    }
    return std::move(module_);
  }

 private:
  void declare_buffers() {
    for (const Stage& stage : dag_.stages) {
      if (stage.placeholder()) {
        module_.buffers.push_back({stage.buffer, stage.role, stage.fill});
        places_[stage.buffer] = {stage.buffer, {}};
        continue;
      }
      const StagePlan& plan = schedule_.plan(stage);
      if (!plan.at) {
        const ir::Buffer buffer = padded_buffer(stage, bounds_.stages.at(stage.name));
        module_.buffers.push_back({buffer, stage.role, {}});
        places_[stage.buffer] = {buffer, {}};
        continue;
      }
      ir::BufferDecl decl = *stage.buffer;
      decl.shape = bounds_.stages.at(stage.name).extents;
      decl.scope = plan.scope;
      if (plan.scope == ir::Scope::Global) decl.shape.insert(decl.shape.begin(), workers_);
      Place place{std::make_shared<const ir::BufferDecl>(std::move(decl)), {}};
      if (plan.scope == ir::Scope::Global) {
        module_.buffers.push_back({place.buffer, ir::Role::Scratch, {}});
        place.prefix.push_back(ir::var_ref(thread_));
      }
      places_[stage.buffer] = std::move(place);
    }
  }

  int index_of(const ir::Buffer& buffer) const {
    for (std::size_t i = 0; i < module_.buffers.size(); ++i) {
      if (module_.buffers[i].buffer == buffer) return int(i);
    }
    return -1;
  }

  ir::Function build_function(const Stage& stage) {
    ir::Function function;
    function.name = stage.name;
    std::replace(function.name.begin(), function.name.end(), '.', '_');
    function.parallel = ir::make_var("task");
    sizes_ = block_sizes(schedule_, bounds_, stage);
    function.body = build(stage);
    std::set<ir::Buffer> read, written;
    bool thread_used = false;
    ir::walk(
        function.body,
        [&](const ir::Stmt& s) {
          if (const auto* store = std::get_if<ir::Store>(&s->node)) written.insert(store->buffer);
        },
        [&](const ir::Expr& e) {
          if (const auto* load = std::get_if<ir::Load>(&e->node)) read.insert(load->buffer);
          const auto* ref = std::get_if<ir::VarRef>(&e->node);
          thread_used |= ref && ref->var == thread_;
        });
    for (const ir::ProgramBuffer& b : module_.buffers) {
      if (!read.count(b.buffer) && !written.count(b.buffer)) continue;
      function.params.push_back(b.buffer);
      function.written.push_back(written.count(b.buffer) > 0);
    }
    if (thread_used) function.thread = thread_;
    function.texels = schedule_.texels();
    return function;
  }

  ir::Stmt build(const Stage& stage) {
    const StageBounds& bounds = bounds_.stages.at(stage.name);
    ir::Stmt nest = emit(stage, bounds, 0, {}, false);
    if (!schedule_.plan(stage).at || sharing(stage) != ir::Sharing::Block) return nest;
    // Of threads along axes that the stage does not bind, the first ones compute it.
    for (const auto& [axis, var] : threads_) {
      const bool bound = std::any_of(bounds.loops.begin(), bounds.loops.end(),
                                     [&](const BoundLoop& l) { return l.axis == axis; });
      if (bound) continue;
      nest = ir::make_if(ir::binary(ir::BinaryOp::Eq, ir::var_ref(var), ir::int_imm(0)),
                         std::move(nest));
    }
    return nest;
  }

  ir::Sharing sharing(const Stage& stage) const {
    return ir::row_of(schedule_.plan(stage).scope).sharing;
  }

  // Loads of stages at the places they are kept, relative to the part computed.
  ir::Expr rewrite_loads(const Stage& stage, const ir::Expr& body) {
    class Rewrite : public ir::Mutator {
     public:
      Rewrite(Builder& builder) : builder_(builder) {}
      using ir::Mutator::mutate;
      ir::Expr mutate(const ir::Expr& expr) override {
        if (expr) {
          if (const auto* load = std::get_if<ir::Load>(&expr->node))
            return builder_.place_load(*this, *load, expr->type.lanes);
        }
        return ir::Mutator::mutate(expr);
      }
      std::vector<ir::Expr> all(const std::vector<ir::Expr>& e) { return mutate_all(e); }
      Builder& builder_;
    };
    return Rewrite(*this).mutate(ir::substitute(body, bounds_.stages.at(stage.name).axis_values));
  }

  template <typename Rewrite>
  ir::Expr place_load(Rewrite& rewrite, const ir::Load& load, int lanes) {
    std::vector<ir::Expr> indices = rewrite.all(load.indices);
    const Place& place = places_.at(load.buffer);
    const Stage* producer = dag_.find(load.buffer);
    std::vector<ir::Expr> at = place.prefix;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      at.push_back(ir::with_base(indices[d], [&](const ir::Expr& index) {
        return producer->placeholder() ? ir::simplify(index, bounds_.ranges)
                                       : relative(*producer, d, index);
      }));
    }
    return ir::load(place.buffer, std::move(at), rewrite.mutate(load.predicate), lanes);
  }

  // index - first element computed.
  ir::Expr relative(const Stage& producer, std::size_t d, const ir::Expr& index) const {
    if (!schedule_.plan(producer).at) return ir::simplify(index, bounds_.ranges);
    const ir::Affine& base = bounds_.stages.at(producer.name).base[d];
    if (auto form = ir::affine_of(index)) {
      form->add(base, -1);
      return form->expr(index->type);
    }
    return ir::simplify(index - base.expr(), bounds_.ranges);
  }

  ir::Stmt leaf(const Stage& stage, bool initialise) {
    const StageBounds& bounds = bounds_.stages.at(stage.name);
    const Place& place = places_.at(stage.buffer);
    std::vector<ir::Expr> at = place.prefix;
    if (stage.store_at.empty()) {
      for (std::size_t d = 0; d < stage.axes.size(); ++d) {
        at.push_back(relative(stage, d, bounds.axis_values.at(stage.axes[d].var)));
      }
    } else {
      for (const ir::Expr& index : stage.store_at) {
        at.push_back(ir::simplify(ir::substitute(index, bounds.axis_values), bounds_.ranges));
      }
    }
    const StagePlan& plan = schedule_.plan(stage);
    const bool together = plan.instruction && plan.instruction->threads > 1;
    if (together && initialise) {
      return tile_call(*plan.initial, nullptr, ir::load(place.buffer, at), sides(stage, true),
                       threads_.contains(ir::ThreadAxis::ThreadX));
    }
    const ir::Expr on = lanes_guard(bounds, initialise);
    if (initialise) {
      return ir::make_store(place.buffer, at, space::neutral_of(stage.combiner, stage.body->type),
                            on);
    }
    ir::Expr value = rewrite_loads(stage, body_within(stage, bounds));
    if (on) value = ir::guard_loads(value, on, [](const ir::Load&) { return true; });
    if (together) {
      return tile_call(*plan.instruction, value, ir::load(place.buffer, at), sides(stage, false),
                       threads_.contains(ir::ThreadAxis::ThreadX));
    }
    if (const ir::IntrinsicRow* row = plan.instruction) {
      return ir::make_store(
          place.buffer, at,
          instruction_call(*row, value, bounds.loops.back().var, ir::load(place.buffer, at)));
    }
    if (!stage.reduce_axes.empty()) {
      value = space::combine(stage.combiner, ir::load(place.buffer, at, on), value);
    }
    return ir::make_store(place.buffer, at, value, on);
  }

  // The loops that an instruction takes the place of; initialise: of data only.
  std::vector<ir::Var> sides(const Stage& stage, bool initialise) const {
    const auto& loops = bounds_.stages.at(stage.name).loops;
    std::vector<ir::Var> vars;
    for (std::size_t i = loops.size() - schedule_.plan(stage).instruction_loops; i < loops.size();
         ++i) {
      if (!initialise || !loops[i].reduce) vars.push_back(loops[i].var);
    }
    return vars;
  }

  // Loops from number `depth` on. `known`: variables that have a value already.
  // initialise: the nest that sets a reduction to its neutral element, data loops only.
  ir::Stmt emit(const Stage& stage, const StageBounds& bounds, std::size_t depth,
                std::set<ir::Var> known, bool initialise) {
    if (depth == bounds.loops.size()) return leaf(stage, initialise);
    const BoundLoop& loop = bounds.loops[depth];
    if (initialise && loop.reduce) return emit(stage, bounds, depth + 1, known, true);
    const bool reduction_begins =
        !initialise && loop.reduce &&
        std::none_of(bounds.loops.begin(), bounds.loops.begin() + std::ptrdiff_t(depth),
                     [](const BoundLoop& l) { return l.reduce; });
    const ir::Stmt zero = reduction_begins ? emit(stage, bounds, depth + 1, known, true) : nullptr;

    // Definitions whose variables are all known now, inside this loop.
    std::vector<Definition> definitions;
    std::set<ir::Var> inner = known;
    inner.insert(loop.var);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Definition& d : bounds.definitions) {
        if (inner.count(d.var) || !defined(d.value, inner, bounds)) continue;
        inner.insert(d.var);
        definitions.push_back(d);
        changed = true;
      }
    }
    const bool outermost = threads_.empty();
    const bool begins = ir::within_block(loop.axis) && threads_.emplace(loop.axis, loop.var).second;
    ir::Stmt body = emit(stage, bounds, depth + 1, inner, initialise);
    for (const ir::Expr& guard : bounds.guards) {
      if (differs_by_lane(guard, bounds) || !defined(guard, inner, bounds)) continue;
      if (depth > 0 && defined(guard, known, bounds)) continue;  // around an outer loop's body
      const ir::Expr needed = ir::simplify(guard, bounds_.ranges);
      if (!ir::as_int(needed)) body = ir::make_if(needed, std::move(body));
    }
    if (!initialise) body = attach(stage, loop, std::move(body));
    if (!initialise) {
      body = without_zeros(schedule_.plan(stage), bounds, bounds_.ranges, loop.var, inner,
                           std::move(body));
    }
    for (auto d = definitions.rbegin(); d != definitions.rend(); ++d) {
      body = ir::make_let(d->var, d->value, std::move(body));
    }
    const StagePlan& plan = schedule_.plan(stage);
    const bool is_call = depth + plan.instruction_loops >= bounds.loops.size();
    if (!is_call || (initialise && !plan.initial)) body = around(loop, std::move(body));
    if (begins) threads_.erase(loop.axis);
    if (begins && outermost) {
      for (const ir::Buffer& buffer : shared_) body = ir::make_allocate(buffer, std::move(body));
      shared_.clear();
    }
    return zero ? ir::make_block({zero, body}) : body;
  }

  // The loop around its body. A block's threads are the same in all loops over one axis: inside
  // another such loop a loop's variable is the other's.
  ir::Stmt around(const BoundLoop& loop, ir::Stmt body) const {
    const ir::Expr begin = ir::int_imm(0);
    if (!ir::within_block(loop.axis)) {
      return ir::make_for(loop.var, begin, ir::int_imm(loop.extent), loop.kind, std::move(body),
                          loop.axis, loop.pipeline);
    }
    const std::int64_t size = sizes_.at(loop.axis);
    if (loop.extent < size) {
      body =
          ir::make_if(ir::binary(ir::BinaryOp::Lt, ir::var_ref(loop.var), ir::int_imm(loop.extent)),
                      std::move(body));
    }
    const ir::Var& thread = threads_.at(loop.axis);
    if (thread != loop.var) return ir::make_let(loop.var, ir::var_ref(thread), std::move(body));
    return ir::make_for(loop.var, begin, ir::int_imm(size), loop.kind, std::move(body), loop.axis);
  }

  // Puts the stages computed in this loop before its body, producers first. What a block's
  // threads share is read after a barrier, and after another one computed again.
  ir::Stmt attach(const Stage& stage, const BoundLoop& loop, ir::Stmt body) {
    struct Part {
      ir::Stmt nest;
      ir::Buffer buffer;
      bool waits;  // for what threads have written before
    };
    std::vector<Part> parts;
    std::set<ir::Buffer> fresh;  // written since the last barrier
    const auto waits = [&](const ir::Stmt& s) {
      bool found = false;
      if (!fresh.empty()) {
        ir::walk(s, nullptr, [&](const ir::Expr& e) {
          const auto* load = std::get_if<ir::Load>(&e->node);
          found |= load && fresh.count(load->buffer) > 0;
        });
      }
      if (found) fresh.clear();
      return found;
    };
    bool shares = false;
    for (const Stage& producer : dag_.stages) {
      if (producer.placeholder()) continue;
      const StagePlan& plan = schedule_.plan(producer);
      if (!plan.at || plan.consumer != stage.name || plan.loop != loop.var) continue;
      Part part{build(producer), places_.at(producer.buffer).buffer, false};
      part.waits = waits(part.nest);
      if (sharing(producer) == ir::Sharing::Block && !sizes_.empty()) {
        fresh.insert(part.buffer);
        shares = true;
      }
      parts.push_back(std::move(part));
    }
    const ir::Stmt barrier = ir::make_barrier(ir::Scope::BlockShared);
    if (waits(body)) body = ir::make_block({barrier, body});
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      body = ir::make_block({part->nest, body});
      if (part->waits) body = ir::make_block({barrier, body});
      const ir::Scope scope = part->buffer->scope;
      if (scope == ir::Scope::Global) continue;
      if (ir::row_of(scope).sharing == ir::Sharing::Block && !threads_.empty()) {
        shared_.push_back(part->buffer);  // once for the block, not by each thread
      } else {
        body = ir::make_allocate(part->buffer, body);
      }
    }
    const bool once = loop.kind == ir::ForKind::Bound && !ir::within_block(loop.axis);
    return shares && !once ? ir::make_block({body, barrier}) : body;
  }

  const space::Schedule& schedule_;
  const space::ComputeDag& dag_;
  const Bounds& bounds_;
  const int workers_;  // that scratch per thread is laid out for
  ir::Var thread_ = ir::make_var("thread");
  std::map<ir::Buffer, Place> places_;
  BlockSizes sizes_;                           // of the launch's blocks, in threads
  std::map<ir::ThreadAxis, ir::Var> threads_;  // of the loops at hand
  std::vector<ir::Buffer> shared_;             // to be allocated around them
  ir::Module module_;
};

}  // namespace

Result<ir::Module> build_loops(const space::Schedule& schedule, const Bounds& bounds, int threads) {
  return Builder(schedule, bounds, threads).run();
}

}  // namespace fettle::lower
