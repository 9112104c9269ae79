// Quotients and remainders of sums: taken apart where the ranges of loops allow it, and as the
// original everywhere.
#include <gtest/gtest.h>

#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/ir/simplify.h"
#include "host/lower/simplify_quotients.h"

namespace fettle::lower {
namespace {

using ir::BinaryOp;
using ir::Expr;

// out[index] = 0 for o in [0, 12), i in [0, 8).
struct Nest {
  ir::Var o = ir::make_var("o"), i = ir::make_var("i");
  ir::Buffer out = std::make_shared<ir::BufferDecl>(
      ir::BufferDecl{"out", ir::kFloat32, {4096}, ir::Scope::Global, 64});

  Expr outer() const { return ir::var_ref(o); }
  Expr inner() const { return ir::var_ref(i); }
  Expr simplified(const Expr& index) const {
    const auto loop = [](const ir::Var& var, std::int64_t extent, ir::Stmt body) {
      return ir::make_for(var, ir::int_imm(0), ir::int_imm(extent), ir::ForKind::Serial,
                          std::move(body));
    };
    const ir::Stmt nest = loop(o, 12, loop(i, 8, ir::make_store(out, {index}, ir::float_imm(0))));
    Expr found;
    ir::walk(
        simplify_quotients(nest),
        [&](const ir::Stmt& s) {
          if (const auto* store = std::get_if<ir::Store>(&s->node)) found = store->indices[0];
        },
        nullptr);
    return found;
  }
  void expect(const Expr& index, const std::string& text) const {
    const Expr made = simplified(index);
    EXPECT_EQ(ir::print(made), text);
    for (std::int64_t a = 0; a < 12; ++a) {
      for (std::int64_t b = 0; b < 8; ++b) {
        const auto at = [&](const Expr& e) {
          const Expr value =
              ir::simplify(ir::substitute(e, {{o, ir::int_imm(a)}, {i, ir::int_imm(b)}}));
          return ir::as_int(value) ? *ir::as_int(value) : -1;
        };
        ASSERT_EQ(at(made), at(index)) << a << ", " << b;
      }
    }
  }
};

Expr over(const Expr& e, std::int64_t by) { return ir::binary(BinaryOp::Div, e, ir::int_imm(by)); }
Expr rest(const Expr& e, std::int64_t by) { return ir::binary(BinaryOp::Mod, e, ir::int_imm(by)); }

TEST(Quotients, OfTilesThatTheDivisorDivides) {
  const Nest n;
  const Expr sum = n.outer() * ir::int_imm(8) + n.inner();
  n.expect(over(sum, 8), "o");
  n.expect(rest(sum, 8), "i");
}

// A step of a sum within a window's row: known from the outer loop alone.
TEST(Quotients, OfTilesThatDivideTheDivisor) {
  const Nest n;
  const Expr sum = n.outer() * ir::int_imm(8) + n.inner();
  n.expect(over(sum, 24), "(o / 3)");
  n.expect(rest(sum, 24), "(((o % 3) * 8) + i)");
  n.expect(over(sum + ir::int_imm(16), 24), "((o + 2) / 3)");
}

TEST(Quotients, StayWhereTilesCrossABorder) {
  const Nest n;
  const Expr sum = n.outer() * ir::int_imm(8) + n.inner() + ir::int_imm(4);
  EXPECT_EQ(ir::print(n.simplified(over(sum, 24))).find("o / 3"), std::string::npos);
}

}  // namespace
}  // namespace fettle::lower
