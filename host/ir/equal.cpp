// Structural equality (equal.h).
#include "host/ir/equal.h"

#include <algorithm>
#include <bit>

#include "host/ir/visit.h"

namespace fettle::ir {

bool equal(const Expr& a, const Expr& b) {
  if (a == b) return true;
  if (!a || !b || a->type != b->type || a->node.index() != b->node.index()) return false;
  const auto of_b = [&]<typename Node>(const Node&) -> const Node& {
    return std::get<Node>(b->node);
  };
  return visit(
      a, [&](const IntImm& x) { return x.value == of_b(x).value; },
      [&](const FloatImm& x) {
        return std::bit_cast<std::uint64_t>(x.value) == std::bit_cast<std::uint64_t>(of_b(x).value);
      },
      [&](const VarRef& x) { return x.var == of_b(x).var; },
      [&](const Unary& x) { return x.op == of_b(x).op && equal(x.a, of_b(x).a); },
      [&](const Binary& x) {
        return x.op == of_b(x).op && equal(x.a, of_b(x).a) && equal(x.b, of_b(x).b);
      },
      [&](const MulAdd& x) {
        return equal(x.a, of_b(x).a) && equal(x.b, of_b(x).b) && equal(x.c, of_b(x).c);
      },
      [&](const Intrinsic& x) {
        return x.row == of_b(x).row &&
               std::equal(x.args.begin(), x.args.end(), of_b(x).args.begin(),
                          [](const Expr& p, const Expr& q) { return equal(p, q); });
      },
      [&](const Select& x) {
        return equal(x.condition, of_b(x).condition) && equal(x.then_value, of_b(x).then_value) &&
               equal(x.else_value, of_b(x).else_value);
      },
      [&](const OneOf<Cast, Reinterpret, Broadcast> auto& x) {
        return equal(x.value, of_b(x).value);
      },
      [](const Load&) { return false; },
      [&](const Ramp& x) { return x.stride == of_b(x).stride && equal(x.base, of_b(x).base); });
}

}  // namespace fettle::ir
