// Rebuilding and walking trees (mutator.h).
#include "host/ir/mutator.h"

#include <unordered_set>

#include "host/ir/intrinsics.h"
#include "host/ir/visit.h"

namespace fettle::ir {

std::vector<Expr> Mutator::mutate_all(const std::vector<Expr>& exprs) {
  std::vector<Expr> out;
  out.reserve(exprs.size());
  for (const Expr& e : exprs) out.push_back(child(e));
  return out;
}

std::optional<std::vector<Expr>> Mutator::changed(const std::vector<Expr>& exprs) {
  std::optional<std::vector<Expr>> out;
  for (std::size_t i = 0; i < exprs.size(); ++i) {
    Expr made = child(exprs[i]);
    if (!out && made == exprs[i]) continue;
    if (!out) out.emplace(exprs.begin(), exprs.begin() + std::ptrdiff_t(i));
    out->push_back(std::move(made));
  }
  return out;
}

Expr Mutator::child(const Expr& expr) {
  if (!expr || expr.use_count() < 2 || is_leaf(expr)) return mutate(expr);
  if (auto known = shared_.find(expr); known != shared_.end()) return known->second;
  Expr out = mutate(expr);
  shared_.emplace(expr, out);
  return out;
}

Expr Mutator::mutate(const Expr& expr) {
  if (!expr) return expr;
  return visit(
      expr, [&](const OneOf<IntImm, FloatImm, VarRef> auto&) { return expr; },
      [&](const Unary& n) {
        Expr a = child(n.a);
        return a == n.a ? expr : unary(n.op, a);
      },
      [&](const Binary& n) {
        Expr a = child(n.a), b = child(n.b);
        return a == n.a && b == n.b ? expr : binary(n.op, a, b);
      },
      [&](const MulAdd& n) {
        Expr a = child(n.a), b = child(n.b), c = child(n.c);
        return a == n.a && b == n.b && c == n.c ? expr : mul_add(a, b, c);
      },
      [&](const Intrinsic& n) {
        auto args = changed(n.args);
        return args ? intrinsic(*n.row, std::move(*args)) : expr;
      },
      [&](const Select& n) {
        Expr c = child(n.condition), t = child(n.then_value), e = child(n.else_value);
        return c == n.condition && t == n.then_value && e == n.else_value ? expr : select(c, t, e);
      },
      [&](const Cast& n) {
        Expr v = child(n.value);
        return v == n.value ? expr : cast(expr->type, v);
      },
      [&](const Reinterpret& n) {
        Expr v = child(n.value);
        return v == n.value ? expr : reinterpret(expr->type, v);
      },
      [&](const Load& n) {
        auto indices = changed(n.indices);
        Expr predicate = child(n.predicate);
        if (!indices && predicate == n.predicate) return expr;
        return load(n.buffer, indices ? std::move(*indices) : n.indices, predicate,
                    expr->type.lanes);
      },
      [&](const Ramp& n) {
        Expr base = child(n.base);
        return base == n.base ? expr : ramp(base, n.stride, expr->type.lanes);
      },
      [&](const Broadcast& n) {
        Expr v = child(n.value);
        return v == n.value ? expr : broadcast(v, expr->type.lanes);
      });
}

Stmt Mutator::mutate(const Stmt& stmt) {
  if (!stmt) return stmt;
  const Apart apart(*this);
  return rebuilt(stmt);
}

Stmt Mutator::rebuilt(const Stmt& stmt) {
  return visit(
      stmt,
      [&](const For& n) {
        Expr min = mutate(n.min), extent = mutate(n.extent);
        Stmt body = mutate(n.body);
        if (min == n.min && extent == n.extent && body == n.body) return stmt;
        return make_for(n.var, min, extent, n.kind, body, n.axis, n.pipeline);
      },
      [&](const Store& n) {
        auto indices = changed(n.indices);
        Expr value = child(n.value), predicate = child(n.predicate);
        if (!indices && value == n.value && predicate == n.predicate) return stmt;
        return make_store(n.buffer, indices ? std::move(*indices) : n.indices, value, predicate);
      },
      [&](const Block& n) {
        std::vector<Stmt> stmts;
        for (const Stmt& s : n.stmts) stmts.push_back(mutate(s));
        return stmts == n.stmts ? stmt : make_block(std::move(stmts));
      },
      [&](const IfThenElse& n) {
        Expr condition = mutate(n.condition);
        Stmt then_stmt = mutate(n.then_stmt), else_stmt = mutate(n.else_stmt);
        if (condition == n.condition && then_stmt == n.then_stmt && else_stmt == n.else_stmt) {
          return stmt;
        }
        return make_if(condition, then_stmt, else_stmt);
      },
      [&](const Allocate& n) {
        Stmt body = mutate(n.body);
        return body == n.body ? stmt : make_allocate(n.buffer, body);
      },
      [&](const Let& n) {
        Expr value = mutate(n.value);
        Stmt body = mutate(n.body);
        return value == n.value && body == n.body ? stmt : make_let(n.var, value, body);
      },
      [&](const TileCall& n) {
        auto operands = changed(n.operands);
        return operands ? make_tile_call(*n.row, std::move(*operands)) : stmt;
      },
      [&](const AsyncCopies& n) {
        Stmt body = mutate(n.body);
        return body == n.body ? stmt : make_async_copies(body);
      },
      [&](const OneOf<Barrier, AwaitCopies> auto&) { return stmt; });
}

namespace {

// Parents first; what the expressions of one statement share is shown once.
class Walker {
 public:
  Walker(const std::function<void(const Stmt&)>& on_stmt,
         const std::function<void(const Expr&)>& on_expr)
      : on_stmt_(on_stmt), on_expr_(on_expr) {}

  void show(const Expr& expr) {
    on_expr_(expr);
    for_each_child(expr, [&](const Expr& child) { show_once(child); });
  }

  void show(const Stmt& stmt) {
    if (on_stmt_) on_stmt_(stmt);
    std::unordered_set<const ExprNode*> around;
    std::swap(around, seen_);
    for_each_part(
        stmt, [&](const Stmt& child) { show(child); },
        [&](const Expr& part) {
          if (on_expr_) show_once(part);
        });
    std::swap(around, seen_);
  }

 private:
  void show_once(const Expr& expr) {
    if (expr.use_count() < 2 || is_leaf(expr) || seen_.insert(expr.get()).second) show(expr);
  }

  const std::function<void(const Stmt&)>& on_stmt_;
  const std::function<void(const Expr&)>& on_expr_;
  std::unordered_set<const ExprNode*> seen_;
};

class Substitute : public Mutator {
 public:
  explicit Substitute(const Substitution& values) : values_(values) {}
  using Mutator::mutate;
  Expr mutate(const Expr& expr) override {
    if (expr) {
      if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
        auto it = values_.find(ref->var);
        return it == values_.end() ? expr : it->second;
      }
    }
    return Mutator::mutate(expr);
  }

 private:
  const Substitution& values_;
};

}  // namespace

void walk(const Expr& expr, const std::function<void(const Expr&)>& on_expr) {
  if (expr) Walker(nullptr, on_expr).show(expr);
}

void walk(const Stmt& stmt, const std::function<void(const Stmt&)>& on_stmt,
          const std::function<void(const Expr&)>& on_expr) {
  if (stmt) Walker(on_stmt, on_expr).show(stmt);
}

Expr substitute(const Expr& expr, const Substitution& values) {
  return Substitute(values).mutate(expr);
}

Stmt substitute(const Stmt& stmt, const Substitution& values) {
  return Substitute(values).mutate(stmt);
}

}  // namespace fettle::ir
