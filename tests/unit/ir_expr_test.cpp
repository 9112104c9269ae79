// Makers, linear forms, bounds and the simplifier.
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "host/ir/affine.h"
#include "host/ir/equal.h"
#include "host/ir/fold.h"
#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/ir/simplify.h"
#include "tests/unit/decimal_comma.h"

namespace fettle::ir {
namespace {

const Var x = make_var("x"), y = make_var("y");
Expr vx() { return var_ref(x); }
Expr vy() { return var_ref(y); }
Expr n(std::int64_t value) { return int_imm(value); }

TEST(IrExpr, NumbersArePrintedWithAPointWhateverTheLocale) {
  const testing::DecimalComma comma;
  ASSERT_TRUE(comma.there());
  EXPECT_EQ(print(float_imm(1.5)), "1.5");
  EXPECT_EQ(print(float_imm(3)), "3.0");
  EXPECT_EQ(print(float_imm(-1.0 / 3)), "-0.333333343");
}

TEST(IrExpr, MakersFoldConstants) {
  EXPECT_EQ(*as_int(n(7) + n(5)), 12);
  EXPECT_EQ(*as_int(n(7) * n(-5)), -35);
  EXPECT_EQ(*as_int(binary(BinaryOp::Div, n(-7), n(2))), -4);  // toward minus infinity
  EXPECT_EQ(*as_int(binary(BinaryOp::Mod, n(-7), n(2))), 1);
  EXPECT_EQ(*as_int(binary(BinaryOp::Lt, n(1), n(2))), 1);
  EXPECT_EQ(binary(BinaryOp::Lt, n(1), n(2))->type, kBool);
  EXPECT_EQ(*as_int(n(2147483647) + n(1)), -2147483648LL);  // int32 wraps
  EXPECT_EQ(*as_int(int_imm(200, {Scalar::Int8, 1})), -56);
}

TEST(IrExpr, ADivisionByZeroIsNotFolded) {
  EXPECT_EQ(as_int(binary(BinaryOp::Div, n(1), n(0))), nullptr);
}

TEST(IrExpr, ManyFoldedAtOnceAreFoldedOneByOne) {
  const std::vector<std::int64_t> some = {-9, -2, -1, 0, 1, 2, 3, 63, 64, 1'000'000'007};
  std::vector<std::int64_t> a, b;
  for (const std::int64_t x : some) {
    for (const std::int64_t y : some) a.push_back(x), b.push_back(y);
  }
  std::vector<std::int64_t> out(a.size());
  for (int op = 0; op <= int(BinaryOp::Le); ++op) {
    fold_each(BinaryOp(op), a, b, out);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(out[i], fold_int(BinaryOp(op), a[i], b[i], Scalar::Int64).value_or(0))
          << op << " of " << a[i] << ", " << b[i];
    }
  }
}

// Of expressions written in all ways, those that are the form's own are known as such.
TEST(IrExpr, AFormKnowsWhatItWouldWrite) {
  std::mt19937 rng(3);
  const auto draw = [&](int below) { return int(rng() % unsigned(below)); };
  const std::function<Expr(int)> any = [&](int depth) -> Expr {
    switch (depth == 0 ? draw(3) : draw(7)) {
      case 0:
        return vx();
      case 1:
        return vy();
      case 2:
        return n(draw(9) - 4);
      case 3:
      case 4:
        return any(depth - 1) + any(depth - 1);
      case 5:
        return any(depth - 1) - any(depth - 1);
      default:
        return any(depth - 1) * n(draw(7) - 3);
    }
  };
  int written_so = 0, others = 0;
  for (int i = 0; i < 3000; ++i) {
    const Expr drawn = any(3);
    const Affine form = *affine_of(drawn);
    for (const Expr& e : {drawn, form.expr(), form.expr() + n(1), form.expr() - vx()}) {
      const bool same = equal(form.expr(), e);
      EXPECT_EQ(form.is_written_as(e), same) << print(e) << ", its form: " << print(form.expr());
      ++(same ? written_so : others);
    }
  }
  EXPECT_GT(written_so, 3000);
  EXPECT_GT(others, 3000);
}

TEST(IrExpr, NeutralElementsVanish) {
  EXPECT_EQ(print(vx() + n(0)), "x");
  EXPECT_EQ(print(n(1) * vx()), "x");
  EXPECT_EQ(print(vx() * n(0)), "0");
  // Adding 0.0 to a float is not neutral for -0.0.
  EXPECT_EQ(print(var_ref(make_var("f", kFloat32)) + float_imm(0)), "(f + 0.0)");
}

TEST(IrExpr, VectorConstantsAreBroadcasts) {
  EXPECT_EQ(print(zero_of(kFloat32.with_lanes(8))), "x8(0.0)");
  EXPECT_EQ(to_string(kFloat32.with_lanes(8)), "float32x8");
}

TEST(IrExpr, ALoadThatIsOffIsZero) {
  const Buffer b = std::make_shared<BufferDecl>(BufferDecl{"b", kFloat32, {4}});
  EXPECT_EQ(print(load(b, {n(0)}, bool_imm(false))), "0.0");
  EXPECT_EQ(print(load(b, {n(0)}, bool_imm(true))), "b[0]");
}

TEST(IrAffine, CollectsTerms) {
  const auto form = affine_of((vx() + n(3)) * n(4) - vy() + vx());
  ASSERT_TRUE(form);
  EXPECT_EQ(form->coefficient(x), 5);
  EXPECT_EQ(form->coefficient(y), -1);
  EXPECT_EQ(form->constant, 12);
  EXPECT_FALSE(affine_of(vx() * vy()));
  EXPECT_FALSE(affine_of(binary(BinaryOp::Min, vx(), n(3))));
  EXPECT_TRUE(affine_of(vx() - vx())->terms.empty());
}

TEST(IrAffine, WhatIsNoSumIsALeaf) {
  const Expr half = binary(BinaryOp::Div, vx(), n(2));
  const LeafSum sum = leaf_sum_of((half + vy()) * n(6) - half * n(2) - (vy() - n(5)));
  ASSERT_EQ(sum.terms.size(), 2u);
  EXPECT_EQ(sum.coefficient(half), 4);
  EXPECT_EQ(sum.coefficient(vy()), 5);
  EXPECT_EQ(sum.constant, 5);
  EXPECT_TRUE(leaf_sum_of(half - half).terms.empty());
}

TEST(IrAffine, MovementIsApproximate) {
  const Var begin = make_var("begin");
  const Movements lets{{begin, movement_of(vx() * n(4))}};
  const Expr last = binary(BinaryOp::Min, var_ref(begin), n(60));
  const Movement m = movement_of(ramp(last * n(2) + binary(BinaryOp::Div, vy(), n(8)), 3, 4), lets);
  EXPECT_EQ(m.coefficient(x), 8);
  EXPECT_EQ(m.coefficient(y), 0.125);
  EXPECT_EQ(m.coefficient(begin), 0);
}

TEST(IrAffine, Strides) {
  const Expr half = binary(BinaryOp::Div, vy(), n(2));
  const auto along = strided_along((vx() + half) * n(6) - vx(), x, n(3));
  ASSERT_TRUE(along);
  EXPECT_EQ(along->stride, 5);
  EXPECT_EQ(print(along->base), print((n(3) + half) * n(6) - n(3)));
  EXPECT_FALSE(strided_along(binary(BinaryOp::Mod, vx(), n(4)), x, n(0)));
  const auto lanes = strided_lanes(ramp(vx(), 2, 4) * broadcast(n(3), 4) + broadcast(vy(), 4));
  ASSERT_TRUE(lanes);
  EXPECT_EQ(lanes->stride, 6);
  EXPECT_EQ(print(lanes->base), print(vx() * n(3) + vy()));
  EXPECT_FALSE(strided_lanes(ramp(vx(), 2, 4) * ramp(vx(), 1, 4)));
}

TEST(IrAffine, PartsThatMove) {
  const Parts parts = parts_of(*affine_of(vx() * n(2) - vy() + n(1)), [&](const Var& var) {
    return var == y ? std::optional(Interval{0, 3}) : std::nullopt;
  });
  EXPECT_EQ(print(parts.fixed.expr()), print(vx() * n(2)));
  EXPECT_EQ(parts.moving.low, -2);
  EXPECT_EQ(parts.moving.high, 1);
}

TEST(IrAffine, BoundsFollowRanges) {
  const Ranges ranges{{x, {0, 9}}, {y, {-2, 3}}};
  const auto check = [&](const Expr& e, std::int64_t low, std::int64_t high) {
    const auto b = bounds_of(e, ranges);
    ASSERT_TRUE(b) << print(e);
    EXPECT_EQ(b->low, low) << print(e);
    EXPECT_EQ(b->high, high) << print(e);
  };
  check(vx() * n(2) - vy(), -3, 20);
  check(vx() - vx() + vy(), -2, 3);
  check(binary(BinaryOp::Min, vx(), n(4)), 0, 4);
  check(binary(BinaryOp::Mod, vy(), n(4)), 0, 3);
  check(binary(BinaryOp::Div, vx() + n(1), n(3)), 0, 3);
  EXPECT_FALSE(bounds_of(var_ref(make_var("z")), ranges));
}

TEST(IrSimplify, DecidesByRanges) {
  const Ranges ranges{{x, {0, 9}}};
  EXPECT_EQ(print(simplify(binary(BinaryOp::Lt, vx(), n(10)), ranges)), "true");
  EXPECT_EQ(print(simplify(binary(BinaryOp::Lt, vx(), n(9)), ranges)), "(x < 9)");
  EXPECT_EQ(print(simplify(binary(BinaryOp::Min, vx(), n(9)), ranges)), "x");
  EXPECT_EQ(print(simplify(binary(BinaryOp::Mod, vx(), n(10)), ranges)), "x");
  EXPECT_EQ(print(simplify(binary(BinaryOp::Div, vx(), n(10)), ranges)), "0");
  EXPECT_EQ(print(simplify((vx() + n(1)) * n(3) - vx())), "((x * 2) + 3)");
}

TEST(IrSimplify, LoopsOfOneIterationAndDeadBranchesGo) {
  const Buffer b = std::make_shared<BufferDecl>(BufferDecl{"b", kFloat32, {16}});
  const Stmt store = make_store(b, {vx() + vy()}, float_imm(1));
  const Stmt guarded = make_if(binary(BinaryOp::Le, n(0), vx()), store);
  const Stmt nest =
      make_for(x, n(0), n(4), ForKind::Serial, make_for(y, n(2), n(1), ForKind::Serial, guarded));
  EXPECT_EQ(print(simplify(nest)), "for x in 0 +4 {\n  b[(x + 2)] = 1.0\n}\n");
}

TEST(IrMutator, SubstituteKeepsWhatDoesNotChange) {
  const Expr e = vx() * n(2) + vy();
  EXPECT_EQ(substitute(e, {{make_var("other"), n(1)}}), e);
  EXPECT_EQ(print(substitute(e, {{x, n(3)}})), "(6 + y)");
}

TEST(IrPrinter, VariablesOfOneNameAreToldApart) {
  const Var other = make_var("x");
  EXPECT_EQ(print(vx() + var_ref(other) + vx()), "((x + x.1) + x)");
}

}  // namespace
}  // namespace fettle::ir
