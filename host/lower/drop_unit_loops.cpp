// The pass that drops loops of one iteration (drop_unit_loops.h).
#include "host/lower/drop_unit_loops.h"

#include <unordered_map>

#include "host/ir/mutator.h"

namespace fettle::lower {

namespace {

class DropUnitLoops : public ir::Mutator {
 public:
  using ir::Mutator::mutate;

  ir::Stmt mutate(const ir::Stmt& stmt) override {
    if (!stmt) return stmt;
    if (const auto* loop = std::get_if<ir::For>(&stmt->node); loop && runs_once(*loop)) {
      return with(loop->var, loop->min, loop->body);
    }
    if (const auto* let = std::get_if<ir::Let>(&stmt->node)) {
      const ir::Expr value = mutate(let->value);
      if (ir::as_int(value)) return with(let->var, value, let->body);
      return ir::make_let(let->var, value, mutate(let->body));
    }
    return ir::Mutator::mutate(stmt);
  }

  ir::Expr mutate(const ir::Expr& expr) override {
    if (!expr) return expr;
    if (const auto* ref = std::get_if<ir::VarRef>(&expr->node)) {
      const auto value = values_.find(ref->var);
      return value == values_.end() ? expr : value->second;
    }
    return ir::Mutator::mutate(expr);
  }

 private:
  static bool runs_once(const ir::For& loop) {
    const std::int64_t* extent = ir::as_int(loop.extent);
    return extent && *extent == 1 && ir::as_int(loop.min) &&
           (loop.kind == ir::ForKind::Serial || loop.kind == ir::ForKind::Unrolled);
  }

  // Variables are unique: none is ever taken back.
  ir::Stmt with(const ir::Var& var, const ir::Expr& value, const ir::Stmt& body) {
    values_.emplace(var, value);
    return mutate(body);
  }

  std::unordered_map<ir::Var, ir::Expr> values_;
};

}  // namespace

ir::Stmt drop_unit_loops(const ir::Stmt& stmt) { return DropUnitLoops().mutate(stmt); }

}  // namespace fettle::lower
