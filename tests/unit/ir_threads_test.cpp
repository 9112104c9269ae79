// The interpreter: threads that go together, and copies that go on beside them.
#include <gtest/gtest.h>

#include "host/ir/interpreter.h"
#include "host/ir/intrinsics.h"

namespace fettle::ir {
namespace {

Buffer buffer(const char* name, DataType type, std::vector<std::int64_t> shape,
              Scope scope = Scope::Global) {
  return std::make_shared<BufferDecl>(BufferDecl{name, type, std::move(shape), scope});
}

std::span<std::uint8_t> bytes(std::vector<float>& v) {
  return {reinterpret_cast<std::uint8_t*>(v.data()), v.size() * sizeof(float)};
}

Stmt bound(const Var& var, std::int64_t extent, Stmt body, ThreadAxis axis) {
  return make_for(var, int_imm(0), int_imm(extent), ForKind::Bound, std::move(body), axis);
}

// Two warps: each leaves zeros in a tile of the block's memory, by way of a fragment, and then its
// threads copy half a row each out.
Problem through_fragments(const Stmt& between, std::int64_t lanes, std::vector<float>& data) {
  const IntrinsicRow &zero = *find_intrinsic("wmma_f16_zero"),
                     &store = *find_intrinsic("wmma_f16_store");
  const Buffer out = buffer("out", kFloat32, {32, 16}),
               tile = buffer("tile", kFloat32, {16, 16}, Scope::Fragment),
               shared = buffer("shared", kFloat32, {32, 16}, Scope::BlockShared);
  const Var warp = make_var("warp"), lane = make_var("lane"), x = make_var("x"), i = make_var("i"),
            row = make_var("row");
  const Expr m = var_ref(store.m), n = var_ref(store.n), first = var_ref(warp) * int_imm(16);
  const auto by_lanes = [&](Stmt call) {
    return bound(lane, lanes, std::move(call), ThreadAxis::ThreadX);
  };
  const Stmt fill =
      by_lanes(make_tile_call(zero, {load(tile, {var_ref(zero.m), var_ref(zero.n)})}));
  const Stmt keep =
      by_lanes(make_tile_call(store, {load(tile, {m, n}), load(shared, {first + m, n})}));
  const Expr half = binary(BinaryOp::Mod, var_ref(x), int_imm(2)) * int_imm(8) + var_ref(i);
  const Stmt copy =
      make_let(row, first + binary(BinaryOp::Div, var_ref(x), int_imm(2)),
               make_for(i, int_imm(0), int_imm(8), ForKind::Serial,
                        make_store(out, {var_ref(row), half},
                                   load(shared, {var_ref(row), half}) + float_imm(1))));
  const Stmt body = make_allocate(
      tile, make_block({fill, keep, between, bound(x, 32, copy, ThreadAxis::ThreadX)}));
  return interpret(make_allocate(shared, bound(warp, 2, body, ThreadAxis::ThreadY)),
                   {{out, bytes(data)}});
}

TEST(IrThreads, AWarpExecutesARowTogether) {
  std::vector<float> data(32 * 16, -1);
  const Stmt barrier = make_barrier(Scope::BlockShared);
  const Problem problem = through_fragments(barrier, 32, data);
  ASSERT_FALSE(problem) << *problem;
  EXPECT_EQ(data, std::vector<float>(32 * 16, 1));
  EXPECT_TRUE(through_fragments(make_block({}), 32, data)) << "what other threads have stored";
  EXPECT_TRUE(through_fragments(barrier, 16, data)) << "half a warp";
}

TEST(IrThreads, ProductsOfTilesAreSums) {
  const IntrinsicRow& row = *find_intrinsic("wmma_f16");
  EXPECT_EQ(row.operations.floating, 2.0 * 16 * 16 * 16);
  constexpr DataType kHalf{Scalar::Float16, 1};
  const Buffer a = buffer("a", kHalf, {16, 16}), b = buffer("b", kHalf, {16, 16}),
               sum = buffer("sum", kFloat32, {16, 16});
  const Expr m = var_ref(row.m), n = var_ref(row.n), k = var_ref(row.k);
  const Stmt call = make_tile_call(row, {load(a, {m, k}), load(b, {k, n}), load(sum, {m, n})});
  std::vector<std::uint8_t> ones(2 * 256, 0);
  for (std::size_t i = 1; i < ones.size(); i += 2) ones[i] = 0x3c;  // 1 as binary16
  std::vector<std::uint8_t> twos = ones;
  for (std::size_t i = 1; i < twos.size(); i += 2) twos[i] = 0x40;
  std::vector<float> sums(256, 5);
  const Memory memory = {{a, ones}, {b, twos}, {sum, bytes(sums)}};
  ASSERT_FALSE(interpret(bound(make_var("lane"), 32, call, ThreadAxis::ThreadX), memory));
  EXPECT_EQ(sums[0], 5 + 16 * 2);
  EXPECT_EQ(sums[255], 5 + 16 * 2);
  EXPECT_TRUE(interpret(call, memory)) << "no warp";
  // Places that differ between the threads.
  const Var lane = make_var("lane");
  const Stmt apart =
      make_tile_call(row, {load(a, {m, k}), load(b, {k, n}), load(sum, {m + var_ref(lane), n})});
  const Problem problem = interpret(bound(lane, 32, apart, ThreadAxis::ThreadX), memory);
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("differ"), std::string::npos) << *problem;
}

// Factors are rounded, sums are not.
TEST(IrThreads, ProductsOfTf32RoundTheirFactors) {
  const IntrinsicRow& row = *find_intrinsic("wmma_tf32");
  EXPECT_EQ(row.operations.all(), 2.0 * 16 * 16 * 8) << "a conversion is no operation";
  const Buffer a = buffer("a", kFloat32, {16, 8}), b = buffer("b", kFloat32, {8, 16}),
               sum = buffer("sum", kFloat32, {16, 16});
  const Expr m = var_ref(row.m), n = var_ref(row.n), k = var_ref(row.k);
  const Stmt call = make_tile_call(row, {load(a, {m, k}), load(b, {k, n}), load(sum, {m, n})});
  std::vector<float> ties(128, 1 + 0x1p-11f), lows(128, 2 - 0x1p-12f), sums(256, 0x1p-16f);
  const Memory memory = {{a, bytes(ties)}, {b, bytes(lows)}, {sum, bytes(sums)}};
  ASSERT_FALSE(interpret(bound(make_var("lane"), 32, call, ThreadAxis::ThreadX), memory));
  EXPECT_EQ(sums, std::vector<float>(256, 8 * (1 + 0x1p-10f) * 2 + 0x1p-16f));
}

// Four threads: each copies an element for its neighbour in one group, and another in the next.
Problem copies(const std::vector<int>& awaited, bool barrier) {
  const Buffer in = buffer("in", kFloat32, {8}), out = buffer("out", kFloat32, {8}),
               shared = buffer("shared", kFloat32, {8}, Scope::BlockShared);
  const Var t = make_var("t");
  const Expr me = var_ref(t), other = int_imm(3) - me;
  std::vector<Stmt> body;
  for (const int group : {0, 4}) {
    const Expr at = me + int_imm(group);
    body.push_back(make_async_copies(make_store(shared, {at}, load(in, {at}))));
  }
  int group = 0;
  for (const int left : awaited) {
    if (left >= 0) body.push_back(make_await_copies(left));
    if (barrier) body.push_back(make_barrier(Scope::BlockShared));
    body.push_back(make_store(out, {me + int_imm(group)}, load(shared, {other + int_imm(group)})));
    group += 4;
  }
  std::vector<float> from{1, 2, 3, 4, 5, 6, 7, 8}, to(8, 0);
  const Stmt threads = make_allocate(shared, bound(t, 4, make_block(body), ThreadAxis::ThreadX));
  auto problem = interpret(threads, {{in, bytes(from)}, {out, bytes(to)}});
  if (!problem && to != std::vector<float>{4, 3, 2, 1, 8, 7, 6, 5}) problem = "other values";
  return problem;
}

TEST(IrThreads, CopiesAreThereWhenTheyAreAwaited) {
  const Problem problem = copies({1, 0}, true);
  EXPECT_FALSE(problem) << *problem;
  EXPECT_TRUE(copies({1, 1}, true)) << "the second group is not awaited";
  EXPECT_TRUE(copies({-1, 0}, true)) << "nor the first";
  EXPECT_TRUE(copies({1, 0}, false)) << "others' copies, without a barrier";
}

}  // namespace
}  // namespace fettle::ir
