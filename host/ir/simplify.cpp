// The simplifier (simplify.h, simplifier.h).
#include "host/ir/simplify.h"

#include <algorithm>

#include "host/ir/simplifier.h"

namespace fettle::ir {

namespace {

// The form in variables that are not known.
Affine resolved(Affine form, const KnownSums& known) {
  const auto is_known = [&](const auto& term) { return known.count(term.first) != 0; };
  if (known.empty() || std::none_of(form.terms.begin(), form.terms.end(), is_known)) return form;
  Affine sum;
  sum.constant = form.constant;
  for (const auto& [var, coefficient] : form.terms) {
    if (const auto it = known.find(var); it != known.end()) {
      sum.add(it->second, coefficient);
    } else {
      sum.add(var, coefficient);
    }
  }
  return sum;
}

}  // namespace

Expr ExprSimplifier::mutate(const Expr& expr) {
  if (!expr || as_int(expr)) return expr;
  if (auto form = affine_of(expr)) {
    const Affine sum = resolved(std::move(*form), known_);
    return sum.is_written_as(expr) ? expr : sum.expr(expr->type);
  }
  Expr e = Mutator::mutate(expr);
  if (e != expr && !known_.empty()) {
    if (const auto form = affine_of(e)) return form->expr(e->type);  // of a product, by now
  }
  const auto* op = std::get_if<Binary>(&e->node);
  if (!op || op->a->type.lanes != 1 || !op->a->type.is_int()) return e;
  return decide(e, *op);
}

Expr ExprSimplifier::decide(const Expr& e, const Binary& op) const {
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

Stmt StmtSimplifier::mutate(const Stmt& stmt) {
  if (!stmt) return stmt;
  const Apart apart(*this);
  if (const auto* loop = std::get_if<For>(&stmt->node)) return simplify_for(*loop);
  if (const auto* let = std::get_if<Let>(&stmt->node)) return simplify_let(*let);
  if (const auto* branch = std::get_if<IfThenElse>(&stmt->node)) return simplify_if(*branch);
  return Mutator::mutate(stmt);
}

Stmt StmtSimplifier::with_known(const Var& var, Affine sum, const Stmt& body) {
  known_[var] = std::move(sum);
  Stmt made = mutate(body);
  known_.erase(var);
  return made;
}

Stmt StmtSimplifier::simplify_if(const IfThenElse& branch) {
  const Expr condition = mutate(branch.condition);
  if (const std::int64_t* c = as_int(condition)) {
    if (*c) return mutate(branch.then_stmt);
    return branch.else_stmt ? mutate(branch.else_stmt) : make_block({});
  }
  return make_if(condition, mutate(branch.then_stmt), mutate(branch.else_stmt));
}

Stmt StmtSimplifier::simplify_for(const For& loop) {
  const Expr min = mutate(loop.min), extent = mutate(loop.extent);
  const std::int64_t* m = as_int(min);
  const std::int64_t* n = as_int(extent);
  if (n && *n <= 0) return make_block({});
  // A parallel loop stays, although it has one iteration: it is the launch's.
  if (n && *n == 1 && loop.kind != ForKind::Parallel) {
    if (auto sum = affine_of(min)) return with_known(loop.var, std::move(*sum), loop.body);
    return mutate(substitute(loop.body, {{loop.var, min}}));
  }
  if (m && n) ranges_[loop.var] = {*m, *m + *n - 1};
  Stmt body = mutate(loop.body);
  ranges_.erase(loop.var);
  return make_for(loop.var, min, extent, loop.kind, body, loop.axis, loop.pipeline);
}

Stmt StmtSimplifier::simplify_let(const Let& let) {
  const Expr value = mutate(let.value);
  if (auto sum = affine_of(value)) return with_known(let.var, std::move(*sum), let.body);
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

Expr simplify(const Expr& expr, const Ranges& ranges) {
  const KnownSums none;
  return ExprSimplifier(ranges, none).mutate(expr);
}
Stmt simplify(const Stmt& stmt, const Ranges& ranges) {
  return StmtSimplifier(ranges).mutate(stmt);
}

}  // namespace fettle::ir
