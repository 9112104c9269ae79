// The passes that decide conditions of padding: what they make, and that it means the same.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <numeric>

#include "host/ir/interpreter.h"
#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/ir/simplify.h"
#include "host/lower/cpu/lowering.h"
#include "host/lower/drop_implied.h"
#include "host/lower/drop_zero_products.h"
#include "host/lower/flatten_storage.h"
#include "host/lower/pin_border.h"
#include "host/lower/split_border.h"
#include "host/lower/unroll.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"

namespace fettle::lower {
namespace {

using namespace ir;

Buffer buffer(const char* name, std::vector<std::int64_t> shape, Scope scope = Scope::Global) {
  return std::make_shared<BufferDecl>(BufferDecl{name, kFloat32, std::move(shape), scope});
}

Expr compare(BinaryOp op, Expr a, Expr b) { return binary(op, std::move(a), std::move(b)); }

// Adds the loads under a condition and the products of a statement.
void count(const Stmt& stmt, int& conditions, int& products) {
  walk(stmt, nullptr, [&](const Expr& e) {
    const auto* load = std::get_if<Load>(&e->node);
    conditions += load && load->predicate;
    products += std::holds_alternative<MulAdd>(e->node);
  });
}

// A 4 x 8 image and its shift by one row and one column, zeros coming in.
struct Shift {
  Buffer in = buffer("in", {4, 8}), out = buffer("out", {4, 8}),
         tile = buffer("tile", {8}, Scope::Register);
  Var y = make_var("y"), x = make_var("x"), z = make_var("z");
  Expr row = compare(BinaryOp::Le, int_imm(1), var_ref(y));
  Expr column = compare(BinaryOp::Le, int_imm(1), var_ref(x));

  Expr shifted(Expr predicate) const {
    return load(in, {var_ref(y) - int_imm(1), var_ref(x) - int_imm(1)}, std::move(predicate));
  }
  Stmt over_y(Stmt body) const {
    return make_for(y, int_imm(0), int_imm(4), ForKind::Serial, std::move(body));
  }
  Stmt over_x(Stmt body) const {
    return make_for(x, int_imm(0), int_imm(8), ForKind::Serial, std::move(body));
  }
  std::vector<float> run(const Stmt& s) const {
    std::vector<float> from(32), to(32, -1);
    std::iota(from.begin(), from.end(), 1.0f);
    const auto bytes = [](std::vector<float>& v) {
      return std::span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(v.data()), v.size() * 4);
    };
    const auto problem = interpret(flatten_storage(s), {{in, bytes(from)}, {out, bytes(to)}});
    EXPECT_FALSE(problem) << *problem;
    return to;
  }
};

TEST(Border, TilesInsideTheImageAskNothing) {
  const Shift s;
  const auto along = [](const Var& var, Stmt body) {
    return make_for(var, int_imm(0), int_imm(8), ForKind::Serial, std::move(body));
  };
  const Stmt zero = along(s.z, make_store(s.tile, {var_ref(s.z)}, float_imm(0)));
  const Expr above = load(s.in, {var_ref(s.y) - int_imm(1), var_ref(s.x)}, s.row);
  const Stmt read = s.over_x(make_if(s.row, make_store(s.tile, {var_ref(s.x)}, above)));
  const Var w = make_var("w");
  const Stmt write =
      along(w, make_store(s.out, {var_ref(s.y), var_ref(w)}, load(s.tile, {var_ref(w)})));
  const Stmt before = s.over_y(make_allocate(s.tile, make_block({zero, read, write})));
  const Stmt after = split_border(before);
  const std::string text = print(after);
  const auto begin = text.find("if (0 <= (y - 1)) {"), middle = text.find("else");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_EQ(text.substr(begin + 5, middle - begin).find("if "), std::string::npos) << text;
  EXPECT_NE(text.find("] if ", middle), std::string::npos) << text;
  EXPECT_EQ(s.run(before), s.run(after));
}

TEST(Border, ConditionsThatABranchImpliesAreDropped) {
  const Shift s;
  // Weaker than the branch's condition, the same, and stronger.
  const Expr branch = compare(BinaryOp::Le, int_imm(2), var_ref(s.y));
  for (const int least : {1, 2, 3}) {
    const Expr inside = compare(BinaryOp::Le, int_imm(least), var_ref(s.y));
    const Stmt store = make_store(s.out, {var_ref(s.y), var_ref(s.x)},
                                  s.shifted(binary(BinaryOp::And, inside, s.column)));
    const Stmt before = s.over_y(s.over_x(make_if(branch, store, store)));
    const Stmt after = drop_implied(before);
    EXPECT_EQ(s.run(before), s.run(after));
    const std::string text = print(after), others = text.substr(text.find("else"));
    const std::string condition = "(" + std::to_string(least) + " <= y)";
    EXPECT_EQ(text.find(condition + " and ") < text.find("else"), least == 3) << text;
    EXPECT_NE(others.find(condition), std::string::npos) << text;  // implies nothing there
  }
}

TEST(Border, RangesOfLoopsInsideABranchCount) {
  const Shift s;
  // y + x >= 1 for every x where y >= 1; y - x >= 1 is not.
  for (const bool plus : {true, false}) {
    const Expr sum = plus ? var_ref(s.y) + var_ref(s.x) : var_ref(s.y) - var_ref(s.x);
    const Expr condition = compare(BinaryOp::Le, int_imm(1), sum);
    const Stmt store = make_store(s.out, {var_ref(s.y), var_ref(s.x)},
                                  load(s.in, {var_ref(s.y), var_ref(s.x)}, condition));
    const Stmt before = s.over_y(make_if(s.row, s.over_x(store)));
    const Stmt after = drop_implied(before);
    EXPECT_EQ(print(after).find("] if ") == std::string::npos, plus) << print(after);
    EXPECT_EQ(s.run(before), s.run(after));
  }
}

TEST(Border, ProductsOfZerosAddNothing) {
  const Shift s;
  const std::vector<Expr> at{var_ref(s.y), var_ref(s.x)};
  const Expr value = load(s.in, at), old = load(s.out, at);
  const auto stored = [&](Expr sum) {
    return print(drop_zero_products(make_store(s.out, at, std::move(sum))));
  };
  EXPECT_EQ(stored(mul_add(float_imm(0), value, old)), "out[y, x] = out[y, x]\n");
  EXPECT_EQ(stored(mul_add(mul_add(value, float_imm(0), value), value, old)),
            "out[y, x] = mul_add(in[y, x], in[y, x], out[y, x])\n");
  EXPECT_EQ(stored(mul_add(float_imm(1), value, old)),
            "out[y, x] = mul_add(1.0, in[y, x], out[y, x])\n");
}

// What the passes are for: rows of a whole picture, read where they lie, without a
// condition at any load and without a product of padding.
TEST(Border, DepthwiseRowsReadThePictureWithoutConditions) {
  const auto workload = space::Workload::parse(nlohmann::json{{"op", "depthwise_conv2d"},
                                                              {"height", 7},
                                                              {"width", 7},
                                                              {"channels", 16},
                                                              {"kernel", 3},
                                                              {"pad", 1}});
  ASSERT_TRUE(workload);
  const space::CpuTarget target{"x86_64", "x86_64-linux-gnu", "x86-64-v4", {}, 512, 32, true, 1};
  const auto task = space::open_cpu_space(workload->dag(), target);
  ASSERT_TRUE(task);
  const auto configuration = task->space().parse(
      R"({"sketch":"cpu_spatial","knobs":{"register_tile":[1,7,1,16],"task_y":[0],"task_x":[0],
          "task_c":[0],"tile_order":[0],"reduce_inner":[3],"reduce_order":[0],"unroll":[64],
          "pad":[2]}})");
  ASSERT_TRUE(configuration);
  const auto module = lower_configuration(*task, *configuration);
  ASSERT_TRUE(module);
  int conditions = 0, products = 0;
  for (const Function& function : module->functions) count(function.body, conditions, products);
  EXPECT_EQ(conditions, 0);
  // Of 7 columns each 3 taps in 3 rows, but for 2 taps of each row that lie outside.
  EXPECT_EQ(products, 3 * (3 * 7 - 2));
}

// A row of three tiles, three columns each, summed over a window of three with zeros around: the
// first and the last tile leave out a product, the one between asks nothing.
TEST(Border, TilesAtTheEndsOfARowArePinnedThere) {
  const Buffer in = buffer("in", {9}), out = buffer("out", {9}),
               tile = buffer("tile", {3}, Scope::Register);
  const Var at = make_var("at"), x = make_var("x"), w = make_var("w"), z = make_var("z");
  const auto along = [](const Var& var, ForKind kind, Stmt body) {
    return make_for(var, int_imm(0), int_imm(3), kind, std::move(body));
  };
  const Expr column = var_ref(at) * int_imm(3) + var_ref(x),
             from = column + var_ref(w) - int_imm(1);
  const Expr read = load(in, {from},
                         binary(BinaryOp::And, compare(BinaryOp::Le, int_imm(0), from),
                                compare(BinaryOp::Lt, from, int_imm(9))));
  const Stmt zero = along(x, ForKind::Unrolled, make_store(tile, {var_ref(x)}, float_imm(0)));
  const Stmt sum = along(
      w, ForKind::Serial,
      along(x, ForKind::Unrolled,
            make_store(tile, {var_ref(x)}, mul_add(read, float_imm(2), load(tile, {var_ref(x)})))));
  const Stmt write =
      along(z, ForKind::Unrolled,
            make_store(out, {var_ref(at) * int_imm(3) + var_ref(z)}, load(tile, {var_ref(z)})));
  const Stmt before =
      along(at, ForKind::Serial, make_allocate(tile, make_block({zero, sum, write})));
  const Stmt pinned = pin_border(before);
  const Stmt after = drop_zero_products(simplify(unroll(pinned).value()));
  int conditions = 0, products = 0;
  count(after, conditions, products);
  EXPECT_EQ(conditions, 0) << print(after);
  EXPECT_EQ(products, 3 + 2 * (9 - 1)) << print(after);  // the middle one's window is a loop
  const auto run = [&](const Stmt& s) {
    std::vector<float> values(9), sums(9, -1);
    std::iota(values.begin(), values.end(), 1.0f);
    const auto bytes = [](std::vector<float>& v) {
      return std::span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(v.data()), v.size() * 4);
    };
    const auto problem = interpret(flatten_storage(s), {{in, bytes(values)}, {out, bytes(sums)}});
    EXPECT_FALSE(problem) << *problem;
    return sums;
  };
  EXPECT_EQ(run(before), run(after));
  EXPECT_EQ(run(before)[0], 6);
}

// A tile as wide as the padding reaches over both ends of a row of two: it stays as it is.
TEST(Border, TilesThatReachOverBothEndsStay) {
  const Buffer in = buffer("in", {4}), out = buffer("out", {4}),
               tile = buffer("tile", {2}, Scope::Register);
  const Var at = make_var("at"), x = make_var("x"), w = make_var("w");
  const Expr from = var_ref(at) * int_imm(2) + var_ref(x) + var_ref(w) - int_imm(3);
  const Expr read = load(in, {from},
                         binary(BinaryOp::And, compare(BinaryOp::Le, int_imm(0), from),
                                compare(BinaryOp::Lt, from, int_imm(4))));
  const Stmt sum =
      make_for(w, int_imm(0), int_imm(7), ForKind::Serial,
               make_for(x, int_imm(0), int_imm(2), ForKind::Unrolled,
                        make_store(out, {var_ref(at) * int_imm(2) + var_ref(x)},
                                   mul_add(read, float_imm(2), load(tile, {var_ref(x)})))));
  const Stmt before =
      make_for(at, int_imm(0), int_imm(2), ForKind::Serial, make_allocate(tile, sum));
  EXPECT_EQ(print(pin_border(before)), print(before));
}

// The same on a whole convolution, whose rows of padding are left out by branches.
TEST(Border, TiledConvolutionsReadThePictureWithoutConditions) {
  const auto workload = space::Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                              {"height", 6},
                                                              {"width", 36},
                                                              {"in_channels", 8},
                                                              {"out_channels", 16},
                                                              {"kernel", {3, 3}},
                                                              {"pad", {1, 1}}});
  ASSERT_TRUE(workload);
  const space::CpuTarget target{"x86_64", "x86_64-linux-gnu", "x86-64-v4", {}, 512, 32, true, 1};
  const auto task = space::open_cpu_space(workload->dag(), target);
  ASSERT_TRUE(task);
  const auto configuration = task->space().parse(
      R"({"sketch":"cpu_tiled","knobs":{"register_tile":[1,12,1,16],"task_y":[1],"task_x":[1],
          "task_oc":[0],"task_order":[0],"tile_order":[0],"reduce_inner":[2],"reduce_order":[0],
          "unroll":[64],"pad":[2],"skip":[1]}})");
  ASSERT_TRUE(configuration);
  const auto module = lower_configuration(*task, *configuration);
  ASSERT_TRUE(module) << module.error().text();
  ASSERT_EQ(module->buffers.size(), 4u);  // input, weight, packed weight, output
  int conditions = 0, products = 0;
  for (const Function& function : module->functions) count(function.body, conditions, products);
  EXPECT_EQ(conditions, 0);
  // Of two channels and twelve columns: inside, in a row of the border, and at both ends of a row,
  // where the window's three columns are unrolled and one product of 36 is padding's.
  EXPECT_EQ(products, 2 * 12 + 2 * 12 + 2 * 2 * (36 - 1));
}

}  // namespace
}  // namespace fettle::lower
