// LoopNests (loop_nest.h).
#include "host/lower/loop_nest.h"

#include <algorithm>
#include <set>

#include "host/ir/intrinsics.h"
#include "host/ir/operation_count.h"
#include "host/ir/visit.h"
#include "host/lower/branch_share.h"

namespace fettle::lower {

namespace {

constexpr double kThreadsOfFragments = 32;

class Collector {
 public:
  LoopNests found;

  void stmt(const ir::Stmt& s, double times) {
    ir::visit(
        s, [&](const ir::For& n) { loop(n, times); }, [&](const ir::Store& n) { store(n, times); },
        [&](const ir::Block& n) {
          for (const ir::Stmt& child : n.stmts) stmt(child, times);
        },
        [&](const ir::IfThenElse& n) { branch(n, times); },
        [&](const ir::Allocate& n) {
          const bool together = n.buffer->scope == ir::Scope::Fragment;
          const double bytes = double(n.buffer->elements()) * n.buffer->type.bytes() /
                               (together ? kThreadsOfFragments : 1);
          const bool innermost = together || n.buffer->scope == ir::Scope::Register;
          if (innermost) live_ += bytes;
          found.register_bytes = std::max(found.register_bytes, live_);
          stmt(n.body, times);
          if (innermost) live_ -= bytes;
        },
        [&](const ir::Let& n) {
          lets_[n.var] = ir::movement_of(n.value, lets_);
          around_.lets[n.var] = n.value;
          stmt(n.body, times);
        },
        [&](const ir::TileCall& n) { tile_call(n, times); },
        [&](const ir::AsyncCopies& n) { stmt(n.body, times); },
        [&](const ir::Barrier&) { found.barriers += times; }, [](const ir::AwaitCopies&) {});
  }

 private:
  void branch(const ir::IfThenElse& n, double times) {
    found.branches += times;
    const double share = branch_share(n.condition, around_).value_or(n.else_stmt ? 0.5 : 1);
    around_.path.push_back({n.condition, true});
    stmt(n.then_stmt, times * share);
    around_.path.back().holds = false;
    if (n.else_stmt) stmt(n.else_stmt, times * (1 - share));
    around_.path.pop_back();
  }

  void loop(const ir::For& n, double times) {
    const std::int64_t* extent = ir::as_int(n.extent);
    const double trips = extent ? double(std::max<std::int64_t>(*extent, 1)) : 1;
    const std::int64_t* begin = ir::as_int(n.min);
    const bool counted = begin && extent;
    if (counted) around_.loops.push_back({n.var, *begin, *extent});
    loops_.push_back({n.var, trips, n.kind, n.axis});
    stmt(n.body, times * trips);
    loops_.pop_back();
    if (counted) around_.loops.pop_back();
  }

  void store(const ir::Store& n, double times) {
    LoopNest nest;
    nest.loops = loops_;
    nest.times = times;
    nest.lanes = n.value->type.lanes;
    nest.stored = ir::movement_of(n.indices.front(), lets_);
    access(nest, n.buffer, n.indices.front(), nest.lanes, true, false);
    seen_.clear();
    expr(nest, n.value, false);
    found.nests.push_back(std::move(nest));
  }

  // A thread's share of it, which it reads and writes by neighbours.
  void tile_call(const ir::TileCall& n, double times) {
    LoopNest nest;
    nest.loops = loops_;
    nest.times = times;
    nest.operations = n.row->operations.all() / n.row->threads;
    nest.vector_operations = 1;
    nest.tile_call = true;
    const ir::Tile& tile = n.row->tile;
    for (std::size_t i = 0; i < n.operands.size(); ++i) {
      const ir::Operand& operand = n.row->operands[i];
      const auto& load = std::get<ir::Load>(n.operands[i]->node);
      const int elements = (operand.along_m ? tile.m : 1) * (operand.along_n ? tile.n : 1) *
                           (operand.along_k ? tile.k : 1);
      const bool last = i + 1 == n.operands.size();
      if (last) nest.stored = ir::movement_of(load.indices.front(), lets_);
      if (operand.scope == ir::Scope::Fragment) {
        nest.register_accesses += 1;
        continue;
      }
      nest.accesses.push_back(make_access(load.buffer, load.indices.front(),
                                          std::max(1, elements / n.row->threads), last, lets_));
      nest.broadcast.push_back(false);
    }
    found.nests.push_back(std::move(nest));
  }

  void access(LoopNest& nest, const ir::Buffer& buffer, const ir::Expr& index, int lanes,
              bool store, bool broadcast) {
    if (buffer->scope == ir::Scope::Register) {
      nest.register_accesses += 1;
      return;
    }
    nest.accesses.push_back(make_access(buffer, index, lanes, store, lets_));
    nest.broadcast.push_back(broadcast);
  }

  // Unrolling decides what rests on places within the body, and nothing is done where that fails.
  // What rests on the loops around it is asked once for the body.
  void guarded(LoopNest& nest, const ir::Expr& condition) {
    if (const auto* both = std::get_if<ir::Binary>(&condition->node);
        both && both->op == ir::BinaryOp::And) {
      guarded(nest, both->a);
      guarded(nest, both->b);
      return;
    }
    const Rests rests = rests_of(condition);
    if (rests.on_body && rests.on_others) {
      nest.masked_loads += 1;
    } else if (rests.on_body) {
      nest.times *= branch_share(condition, around_).value_or(1);
    }
  }

  struct Rests {
    bool on_body = false, on_others = false;  // loops that are unrolled, and those that are not
  };
  Rests rests_of(const ir::Expr& e) const {
    Rests rests;
    if (const auto* n = std::get_if<ir::VarRef>(&e->node)) {
      if (const auto let = around_.lets.find(n->var); let != around_.lets.end()) {
        return rests_of(let->second);
      }
      for (const LoopTrip& loop : loops_) {
        if (loop.var != n->var || loop.extent <= 1) continue;
        (loop.kind == ir::ForKind::Unrolled ? rests.on_body : rests.on_others) = true;
      }
      return rests;
    }
    ir::for_each_child(e, [&](const ir::Expr& child) {
      const Rests its = rests_of(child);
      rests.on_body |= its.on_body;
      rests.on_others |= its.on_others;
    });
    return rests;
  }

  // What the expressions of a statement share is computed once.
  void expr(LoopNest& nest, const ir::Expr& e, bool broadcast) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return;
    // Whatever it counts as: of which class is not told apart here.
    const ir::OperationCount count = ir::operations_of_node(e, false);
    nest.operations += count.all();
    nest.vector_operations += count.all() > 0;
    if (const auto* n = std::get_if<ir::Load>(&e->node)) {
      if (n->predicate) guarded(nest, n->predicate);
      return access(nest, n->buffer, n->indices.front(), e->type.lanes, false, broadcast);
    }
    if (std::holds_alternative<ir::Ramp>(e->node)) return;  // of an index
    const bool copied = std::holds_alternative<ir::Broadcast>(e->node) ||
                        (broadcast && std::holds_alternative<ir::Reinterpret>(e->node));
    ir::for_each_child(e, [&](const ir::Expr& child) { expr(nest, child, copied); });
  }

  std::vector<LoopTrip> loops_;
  Surroundings around_;
  ir::Movements lets_;  // variables are unique, so none is ever taken back
  double live_ = 0;
  std::set<const ir::ExprNode*> seen_;  // of the statement at hand
};

}  // namespace

LoopNests loop_nests(const ir::Function& function) {
  Collector collector;
  // Before the parallel loop is extracted it is part of the body.
  collector.stmt(function.body, double(function.extent));
  return std::move(collector.found);
}

}  // namespace fettle::lower
