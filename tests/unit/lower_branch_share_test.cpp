// Branch shares: how often conditions hold, counted.
#include <gtest/gtest.h>

#include "host/lower/branch_share.h"

namespace fettle::lower {
namespace {

ir::Expr less(const ir::Expr& a, std::int64_t b) {
  return ir::binary(ir::BinaryOp::Lt, a, ir::int_imm(b));
}

struct Rows {
  ir::Var y = ir::make_var("y"), x = ir::make_var("x");
  Surroundings around{{{y, 0, 10}, {x, 1, 4}}, {}, {}};
};

TEST(BranchShare, IsCountedOverTheLoopsOfTheCondition) {
  const Rows rows;
  EXPECT_EQ(branch_share(less(ir::var_ref(rows.y), 3), rows.around), 0.3);
  EXPECT_EQ(branch_share(less(ir::var_ref(rows.x), 2), rows.around), 0.25) << "it begins with 1";
  const ir::Expr both =
      ir::binary(ir::BinaryOp::And, less(ir::var_ref(rows.y), 3), less(ir::var_ref(rows.x), 3));
  EXPECT_DOUBLE_EQ(*branch_share(both, rows.around), 0.15);
  const ir::Expr sum = less(ir::var_ref(rows.y) + ir::var_ref(rows.x), 3);  // 0+1, 0+2, 1+1
  EXPECT_DOUBLE_EQ(*branch_share(sum, rows.around), 3 / 40.0);
}

TEST(BranchShare, CountsWhereTheBranchesAroundItWentOnly) {
  Rows rows;
  rows.around.path.push_back({less(ir::var_ref(rows.y), 4), true});
  rows.around.path.push_back({less(ir::var_ref(rows.x), 2), true});  // nothing in common
  EXPECT_EQ(branch_share(less(ir::var_ref(rows.y), 3), rows.around), 0.75);
  rows.around.path.front().holds = false;
  EXPECT_EQ(branch_share(less(ir::var_ref(rows.y), 3), rows.around), 0.0);
  EXPECT_DOUBLE_EQ(*branch_share(less(ir::var_ref(rows.y), 7), rows.around), 0.5);
}

TEST(BranchShare, LooksThroughWhatVariablesStandFor) {
  const ir::Var task = ir::make_var("task"), y = ir::make_var("y");
  Surroundings around{{{task, 0, 12}}, {}, {}};
  around.lets[y] = ir::binary(ir::BinaryOp::Mod, ir::var_ref(task), ir::int_imm(3));
  EXPECT_DOUBLE_EQ(*branch_share(less(ir::var_ref(y), 1), around), 1 / 3.0);
}

TEST(BranchShare, IsNotKnownOfOtherThings) {
  const Rows rows;
  EXPECT_FALSE(branch_share(less(ir::var_ref(ir::make_var("n")), 3), rows.around));
  const auto buffer = std::make_shared<ir::BufferDecl>(ir::BufferDecl{"table", ir::kInt32, {16}});
  EXPECT_FALSE(branch_share(less(ir::load(buffer, {ir::var_ref(rows.y)}), 3), rows.around));
}

TEST(BranchShare, OfManyIterationsASampleIsLookedAt) {
  const ir::Var a = ir::make_var("a"), b = ir::make_var("b");
  const Surroundings around{{{a, 0, 1000}, {b, 0, 1000}}, {}, {}};
  EXPECT_NEAR(*branch_share(less(ir::var_ref(a), 300), around), 0.3, 0.01);
  const ir::Expr below = ir::binary(ir::BinaryOp::Lt, ir::var_ref(a), ir::var_ref(b));
  EXPECT_NEAR(*branch_share(below, around), 0.5, 0.02);
}

}  // namespace
}  // namespace fettle::lower
