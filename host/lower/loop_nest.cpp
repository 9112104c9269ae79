// LoopNests (loop_nest.h).
#include "host/lower/loop_nest.h"

#include <algorithm>
#include <set>

#include "host/ir/intrinsics.h"
#include "host/ir/operation_count.h"
#include "host/ir/visit.h"

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
        [&](const ir::IfThenElse& n) {
          found.branches += times;
          stmt(n.then_stmt, n.else_stmt ? times / 2 : times);
          if (n.else_stmt) stmt(n.else_stmt, times / 2);
        },
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
          stmt(n.body, times);
        },
        [&](const ir::TileCall& n) { tile_call(n, times); },
        [&](const ir::AsyncCopies& n) { stmt(n.body, times); },
        [&](const ir::Barrier&) { found.barriers += times; }, [](const ir::AwaitCopies&) {});
  }

 private:
  void loop(const ir::For& n, double times) {
    const std::int64_t* extent = ir::as_int(n.extent);
    const double trips = extent ? double(std::max<std::int64_t>(*extent, 1)) : 1;
    loops_.push_back({n.var, trips, n.kind, n.axis});
    stmt(n.body, times * trips);
    loops_.pop_back();
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

  // What the expressions of a statement share is computed once.
  void expr(LoopNest& nest, const ir::Expr& e, bool broadcast) {
    if (e.use_count() > 1 && !seen_.insert(e.get()).second) return;
    // Whatever it counts as: of which class is not told apart here.
    const ir::OperationCount count = ir::operations_of_node(e, false);
    nest.operations += count.all();
    nest.vector_operations += count.all() > 0;
    if (const auto* n = std::get_if<ir::Load>(&e->node)) {
      return access(nest, n->buffer, n->indices.front(), e->type.lanes, false, broadcast);
    }
    if (std::holds_alternative<ir::Ramp>(e->node)) return;  // of an index
    const bool copied = std::holds_alternative<ir::Broadcast>(e->node) ||
                        (broadcast && std::holds_alternative<ir::Reinterpret>(e->node));
    ir::for_each_child(e, [&](const ir::Expr& child) { expr(nest, child, copied); });
  }

  std::vector<LoopTrip> loops_;
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
