// Blocks of threads (thread_blocks.h).
#include "host/lower/thread_blocks.h"

#include <algorithm>
#include <set>

#include "host/ir/intrinsics.h"
#include "host/ir/loads.h"
#include "host/ir/visit.h"

namespace fettle::lower {

BlockSizes block_sizes(const space::Schedule& schedule, const Bounds& bounds,
                       const space::Stage& launch) {
  BlockSizes sizes;
  for (const space::Stage& stage : schedule.dag().stages) {
    if (stage.placeholder()) continue;
    const space::Stage* root = &stage;
    while (schedule.plan(*root).at) root = schedule.dag().find(schedule.plan(*root).consumer);
    if (root != &launch) continue;
    for (const BoundLoop& loop : bounds.stages.at(stage.name).loops) {
      if (!ir::within_block(loop.axis)) continue;
      std::int64_t& size = sizes[loop.axis];
      size = std::max(size, loop.extent);
    }
  }
  return sizes;
}

namespace {

class Check {
 public:
  // What differs: nothing between threads, something between those that go together, or only
  // between others.
  struct Apart {
    bool threads = false, neighbours = false;
  };
  const char* missed = nullptr;  // what not all threads come to

  void visit(const ir::Stmt& s, Apart apart) {
    const auto on = [&](const ir::Stmt& child, Apart more) {
      visit(child, {apart.threads || more.threads, apart.neighbours || more.neighbours});
    };
    ir::visit(
        s,
        [&](const ir::For& n) {
          if (ir::within_block(n.axis)) threads_.insert(n.var);
          if (n.axis == ir::ThreadAxis::ThreadX) neighbours_.insert(n.var);
          const Apart least = apart_in(n.min), most = apart_in(n.extent);
          on(n.body, {least.threads || most.threads, least.neighbours || most.neighbours});
        },
        [](const ir::OneOf<ir::Store, ir::AwaitCopies> auto&) {},
        [&](const ir::Block& n) {
          for (const ir::Stmt& child : n.stmts) on(child, {});
        },
        [&](const ir::IfThenElse& n) {
          const Apart differ = apart_in(n.condition);
          on(n.then_stmt, differ);
          if (n.else_stmt) on(n.else_stmt, differ);
        },
        [&](const ir::OneOf<ir::Allocate, ir::AsyncCopies> auto& n) { on(n.body, {}); },
        [&](const ir::Let& n) {
          const Apart differ = apart_in(n.value);
          if (differ.threads) threads_.insert(n.var);
          if (differ.neighbours) neighbours_.insert(n.var);
          on(n.body, {});
        },
        [&](const ir::Barrier&) {
          if (apart.threads) missed = "a barrier";
        },
        [&](const ir::TileCall& n) {
          if (apart.neighbours) missed = n.row->name;
        });
  }

 private:
  Apart apart_in(const ir::Expr& e) const {
    const auto mentioned = [&](const ir::Var& var) { return ir::mentions(e, var); };
    return {std::any_of(threads_.begin(), threads_.end(), mentioned),
            std::any_of(neighbours_.begin(), neighbours_.end(), mentioned)};
  }

  std::set<ir::Var> threads_;     // variables that differ between threads
  std::set<ir::Var> neighbours_;  // those that differ between neighbours along x
};

}  // namespace

Result<void> check_barriers(const ir::Function& function) {
  Check check;
  check.visit(function.body, {});
  if (!check.missed) return {};
  return Error{ErrorCode::InvalidArgument,
               function.name + ": " + check.missed + " that not all threads of a block come to"};
}

}  // namespace fettle::lower
