// The simplifier (simplify.h).
#include "host/ir/simplify.h"

#include "host/ir/mutator.h"

namespace fettle::ir {

namespace {

// Expressions within ranges that its caller keeps: many are simplified within the same ones.
class ExprSimplifier : public Mutator {
 public:
  explicit ExprSimplifier(const Ranges& ranges) : ranges_(ranges) {}

  using Mutator::mutate;
  Expr mutate(const Expr& expr) override {
    if (!expr) return expr;
    if (const auto form = affine_of(expr)) return form->expr(expr->type);
    Expr e = Mutator::mutate(expr);
    const auto* op = std::get_if<Binary>(&e->node);
    if (!op || op->a->type.lanes != 1 || !op->a->type.is_int()) return e;
    return decide(e, *op);
  }

 private:
  Expr decide(const Expr& e, const Binary& op) {
    const auto a = bounds_of(op.a, ranges_), b = bounds_of(op.b, ranges_);
    if (!a || !b) return e;
    switch (op.op) {
      case BinaryOp::Min:
        return a->high <= b->low ? op.a : b->high <= a->low ? op.b : e;
      case BinaryOp::Max:
        return a->high <= b->low ? op.b : b->high <= a->low ? op.a : e;
      case BinaryOp::Lt:
        return a->high < b->low ? bool_imm(true) : a->low >= b->high ? bool_imm(false) : e;
      case BinaryOp::Le:
        return a->high <= b->low ? bool_imm(true) : a->low > b->high ? bool_imm(false) : e;
      case BinaryOp::Eq:
        if (a->high < b->low || b->high < a->low) return bool_imm(false);
        return a->low == a->high && b->low == b->high ? bool_imm(true) : e;
      case BinaryOp::Div:
        if (b->low == b->high && b->low > 0 && a->low >= 0 && a->high < b->low) {
          return int_imm(0, e->type);
        }
        return e;
      case BinaryOp::Mod:
        if (b->low == b->high && a->low >= 0 && a->high < b->low) return op.a;
        return e;
      default:
        return e;
    }
  }

  const Ranges& ranges_;
};

// Statements: their loops and names come and go in ranges of its own.
class StmtSimplifier : public ExprSimplifier {
 public:
  explicit StmtSimplifier(Ranges ranges) : ExprSimplifier(ranges_), ranges_(std::move(ranges)) {}

  using ExprSimplifier::mutate;
  Stmt mutate(const Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* loop = std::get_if<For>(&stmt->node)) return simplify_for(*loop);
    if (const auto* let = std::get_if<Let>(&stmt->node)) return simplify_let(*let);
    if (const auto* branch = std::get_if<IfThenElse>(&stmt->node)) {
      const Expr condition = mutate(branch->condition);
      if (const std::int64_t* c = as_int(condition)) {
        if (*c) return mutate(branch->then_stmt);
        return branch->else_stmt ? mutate(branch->else_stmt) : make_block({});
      }
      return make_if(condition, mutate(branch->then_stmt), mutate(branch->else_stmt));
    }
    return Mutator::mutate(stmt);
  }

 private:
  Stmt simplify_for(const For& loop) {
    const Expr min = mutate(loop.min), extent = mutate(loop.extent);
    const std::int64_t* m = as_int(min);
    const std::int64_t* n = as_int(extent);
    if (n && *n <= 0) return make_block({});
    // A parallel loop stays, although it has one iteration: it is the launch's.
    if (n && *n == 1 && loop.kind != ForKind::Parallel) {
      return mutate(substitute(loop.body, {{loop.var, min}}));
    }
    if (m && n) ranges_[loop.var] = {*m, *m + *n - 1};
    Stmt body = mutate(loop.body);
    ranges_.erase(loop.var);
    return make_for(loop.var, min, extent, loop.kind, body, loop.axis, loop.pipeline);
  }

  Stmt simplify_let(const Let& let) {
    const Expr value = mutate(let.value);
    if (affine_of(value)) return mutate(substitute(let.body, {{let.var, value}}));
    if (auto range = bounds_of(value, ranges_)) ranges_[let.var] = *range;
    Stmt body = mutate(let.body);
    ranges_.erase(let.var);
    bool used = false;
    walk(body, nullptr, [&](const Expr& e) {
      const auto* ref = std::get_if<VarRef>(&e->node);
      used |= ref && ref->var == let.var;
    });
    return used ? make_let(let.var, value, body) : body;
  }

  Ranges ranges_;
};

}  // namespace

Expr simplify(const Expr& expr, const Ranges& ranges) {
  return ExprSimplifier(ranges).mutate(expr);
}
Stmt simplify(const Stmt& stmt, const Ranges& ranges) {
  return StmtSimplifier(ranges).mutate(stmt);
}

}  // namespace fettle::ir
