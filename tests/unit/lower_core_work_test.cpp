// CoreWork: what a statement asks of a core, by hand.
#include <gtest/gtest.h>

#include "host/lower/cpu/core_work.h"

namespace fettle::lower {
namespace {

space::CpuTarget target() {
  space::CpuTarget t{"x86_64", "x86_64-linux-gnu", "x86-64-v3", {}, 256, 16, true, 1};
  t.caches = {{1, 32768, 64, 1}, {2, 1 << 20, 64, 1}};
  return t;
}

// for k in 0..100: unrolled c in 0..4: sums[c] += scale[k] * weight[k][c], of 8 lanes each.
struct Product {
  ir::Var k = ir::make_var("k"), c = ir::make_var("c");
  ir::Buffer scale = buffer("scale", 100), weight = buffer("weight", 3200);
  LoopNest nest;

  static ir::Buffer buffer(const char* name, std::int64_t elements) {
    return std::make_shared<ir::BufferDecl>(ir::BufferDecl{name, ir::kFloat32, {elements}});
  }
  Access access(const ir::Buffer& of, std::int64_t by_k, std::int64_t by_c, int lanes) const {
    Access one{of, false, lanes, 1, {}};
    one.movement.add(k, double(by_k));
    one.movement.add(c, double(by_c));
    return one;
  }
  explicit Product(double columns = 4) {
    nest.loops = {{k, 100, ir::ForKind::Serial}, {c, columns, ir::ForKind::Unrolled}};
    nest.times = 100 * columns;
    nest.accesses = {access(scale, 1, 0, 1), access(weight, 32, 8, 8)};
    nest.broadcast = {true, false};
    nest.register_accesses = 2;
    nest.operations = 16;
    nest.vector_operations = 1;
    nest.lanes = 8;
    nest.stored.add(c, 8);
  }
};

TEST(CoreWork, OfAProductIsItsSumsLoadsAndWaits) {
  CoreWork work;
  work.add(Product().nest, target());
  EXPECT_EQ(work.arithmetic, 400 / 2.0);
  EXPECT_EQ(work.loads, 100 * (1 + 4) / 2.0) << "the scale once for all columns";
  EXPECT_EQ(work.latency, 100 * 4) << "each sum waits for the one before";
  EXPECT_EQ(work.bodies, 100);
  EXPECT_EQ(work.spills, 0);
  EXPECT_EQ(work.masked, 0);
  EXPECT_EQ(work.unaligned, 0);
  EXPECT_EQ(work.stored_bytes, 0);
}

TEST(CoreWork, MoreSumsThanRegistersAreSpilled) {
  CoreWork narrow, wide;
  narrow.add(Product(8).nest, target());
  wide.add(Product(24).nest, target());
  EXPECT_EQ(narrow.spills, 0);
  // 24 sums, 4 operands and the scale, in 16 registers: each of the others once out and once in.
  EXPECT_EQ(wide.spills, 100 * (24 + 4 + 1 - 16) * 2);
}

TEST(CoreWork, VectorsThatStraddleLinesAndMaskedLoadsAreTold) {
  Product product;
  product.nest.accesses[1] = product.access(product.weight, 33, 8, 8);
  product.nest.masked_loads = 1;
  CoreWork work;
  work.add(product.nest, target());
  EXPECT_EQ(work.unaligned, 400);
  EXPECT_EQ(work.masked, 400);
  CoreWork plain;
  plain.add(Product().nest, target());
  EXPECT_GT(estimated_cycles(work, target()), estimated_cycles(plain, target()));
}

// for k: unrolled x in 0..6, unrolled c in 0..8 around or inside it: sums[x][c] += weight[k][c] and
// so on: 8 vectors of weights for each x.
LoopNest tile(bool columns_inside, double lines) {
  Product product(8);
  const ir::Var x = ir::make_var("x");
  LoopNest nest = product.nest;
  nest.stored.add(x, 64);
  const LoopTrip rows{x, lines, ir::ForKind::Unrolled};
  nest.loops.insert(columns_inside ? nest.loops.begin() + 1 : nest.loops.end(), rows);
  nest.times *= lines;
  nest.register_accesses = 0;
  return nest;
}

TEST(CoreWork, WhatRegistersDoNotHoldUntilItsNextUseIsLoadedAgain) {
  const auto reloaded = [](const LoopNest& nest, int registers) {
    CoreWork work;
    space::CpuTarget of = target();
    of.vector_registers = registers;
    work.add(nest, of);
    return work.reloaded;
  };
  EXPECT_EQ(reloaded(tile(true, 6), 16), 0) << "8 weights stay in registers";
  EXPECT_EQ(reloaded(tile(true, 6), 8), 100 * 5 * 8) << "7 registers: all of them for each row";
  EXPECT_EQ(reloaded(tile(false, 6), 8), 0) << "each weight is used by all rows at once";
}

// for k: unrolled w in 0..3, unrolled i in 0..4, unrolled x in 0..12: sums[x] += input[x + w][i]
// and so on: of each channel 14 pixels, of which all but 2 are used by several columns of the
// window.
LoopNest window(bool channels_outside, bool shuffled) {
  Product product(12);
  const ir::Var w = ir::make_var("w"), i = ir::make_var("i");
  LoopNest nest = product.nest;
  Access& input = nest.accesses[0];
  input.movement = {};
  input.movement.add(product.c, 16);
  input.movement.add(w, 16);
  input.movement.add(i, 1);
  if (shuffled) input.lanes = 8, input.shuffled = true;
  nest.accesses.pop_back();
  const LoopTrip columns{w, 3, ir::ForKind::Unrolled}, channels{i, 4, ir::ForKind::Unrolled};
  const auto at = nest.loops.begin() + 1;
  nest.loops.insert(at, channels_outside ? std::initializer_list<LoopTrip>{channels, columns}
                                         : std::initializer_list<LoopTrip>{columns, channels});
  nest.times *= 12;
  return nest;
}

TEST(CoreWork, ValuesInAllLanesThatRegistersDoNotHoldAreSpreadAgain) {
  const auto spread = [](const LoopNest& nest) {
    CoreWork work;
    space::CpuTarget of = target();
    of.vector_registers = 32;  // 12 of them sums
    work.add(nest, of);
    EXPECT_EQ(work.reloaded, 0);
    return work.reloaded_spread;
  };
  for (const bool shuffled : {false, true}) {
    EXPECT_EQ(spread(window(true, shuffled)), 0) << "14 pixels stay until the next column";
    EXPECT_EQ(spread(window(false, shuffled)), 100 * (3 * 48 - 56)) << "4 times 14 do not";
  }
}

TEST(CoreWork, VectorsWhoseLanesAreNoRowAreShuffledOnceForEachOrder) {
  Product product;
  product.nest.accesses[1].shuffled = true;
  product.nest.accesses[1].movement = {};
  product.nest.accesses[1].movement.add(product.c, 1);
  CoreWork work, plain;
  work.add(product.nest, target());
  EXPECT_EQ(work.shuffles, 100 * 4);
  plain.add(Product().nest, target());
  EXPECT_EQ(plain.shuffles, 0);
  EXPECT_GT(work.code, plain.code);
}

TEST(CoreWork, AStatementInABranchMovesItsShareOnly) {
  Product product;
  CoreWork always, seldom;
  always.add_traffic(NestFootprint(product.nest, 64), target());
  product.nest.times /= 4;
  seldom.add_traffic(NestFootprint(product.nest, 64), target());
  EXPECT_GT(always.traffic[0], 100 * 32 * 4 - 1) << "all of the weights";
  EXPECT_DOUBLE_EQ(seldom.traffic[0], always.traffic[0] / 4);
}

}  // namespace
}  // namespace fettle::lower
