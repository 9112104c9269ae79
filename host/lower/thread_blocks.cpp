// Blocks of threads (thread_blocks.h).
#include "host/lower/thread_blocks.h"

#include <algorithm>
#include <set>

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
  bool misses = false;  // a barrier that not all threads come to

  void visit(const ir::Stmt& s, bool apart) {
    const auto on = [&](const ir::Stmt& child, bool more) { visit(child, apart || more); };
    ir::visit(
        s,
        [&](const ir::For& n) {
          if (ir::within_block(n.axis)) threads_.insert(n.var);
          on(n.body, differs(n.min) || differs(n.extent));
        },
        [](const ir::Store&) {},
        [&](const ir::Block& n) {
          for (const ir::Stmt& child : n.stmts) on(child, false);
        },
        [&](const ir::IfThenElse& n) {
          const bool differ = differs(n.condition);
          on(n.then_stmt, differ);
          if (n.else_stmt) on(n.else_stmt, differ);
        },
        [&](const ir::Allocate& n) { on(n.body, false); },
        [&](const ir::Let& n) {
          if (differs(n.value)) threads_.insert(n.var);
          on(n.body, false);
        },
        [&](const ir::Barrier&) { misses |= apart; });
  }

 private:
  bool differs(const ir::Expr& e) const {
    return std::any_of(threads_.begin(), threads_.end(),
                       [&](const ir::Var& var) { return ir::mentions(e, var); });
  }

  std::set<ir::Var> threads_;  // variables that differ between them
};

}  // namespace

Result<void> check_barriers(const ir::Function& function) {
  Check check;
  check.visit(function.body, false);
  if (!check.misses) return {};
  return Error{ErrorCode::InvalidArgument,
               function.name + ": a barrier that not all threads of a block come to"};
}

}  // namespace fettle::lower
