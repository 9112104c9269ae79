// Structural equality (equal.h).
#include "host/ir/equal.h"

namespace fettle::ir {

bool equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (!a || !b || a->type != b->type) return false;
  if (const auto* x = std::get_if<Binary>(&a->node)) {
    const auto* y = std::get_if<Binary>(&b->node);
    return y && x->op == y->op && equal(x->a, y->a) && equal(x->b, y->b);
  }
  if (const auto* x = std::get_if<VarRef>(&a->node)) {
    const auto* y = std::get_if<VarRef>(&b->node);
    return y && x->var == y->var;
  }
  return as_int(a) && as_int(b) && *as_int(a) == *as_int(b);
}

}  // namespace fettle::ir
