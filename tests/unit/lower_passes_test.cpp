// Each lowering pass on a small nest: what it makes, and that it means the same.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "host/ir/interpreter.h"
#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/ir/simplify.h"
#include "host/lower/drop_unit_loops.h"
#include "host/lower/extract_parallel.h"
#include "host/lower/facts.h"
#include "host/lower/flatten_storage.h"
#include "host/lower/fuse_multiply_add.h"
#include "host/lower/read_or_zero.h"
#include "host/lower/split_predicates.h"
#include "host/lower/unroll.h"
#include "host/lower/vectorize.h"

namespace fettle::lower {
namespace {

using namespace ir;

Buffer buffer(const char* name, std::vector<std::int64_t> shape, Scope scope = Scope::Global) {
  return std::make_shared<BufferDecl>(BufferDecl{name, kFloat32, std::move(shape), scope});
}

struct Nest {
  Buffer a = buffer("a", {4, 8}), b = buffer("b", {4}), out = buffer("out", {4, 8});
  Var i = make_var("i"), j = make_var("j");
  // out[i, j] = a[i, j] * b[i] + out[i, j], with j's loop of the given kind.
  Stmt nest(ForKind i_kind, ForKind j_kind) const {
    const std::vector<Expr> at{var_ref(i), var_ref(j)};
    const Stmt store = make_store(out, at, load(a, at) * load(b, {var_ref(i)}) + load(out, at));
    return make_for(i, int_imm(0), int_imm(4), i_kind,
                    make_for(j, int_imm(0), int_imm(8), j_kind, store));
  }
  std::vector<float> run(const Stmt& s) const {
    std::vector<float> va(32), vb(4), vo(32, 1);
    for (int k = 0; k < 32; ++k) va[k] = float(k);
    for (int k = 0; k < 4; ++k) vb[k] = float(k + 1);
    const auto bytes = [](std::vector<float>& v) {
      return std::span<std::uint8_t>(reinterpret_cast<std::uint8_t*>(v.data()), v.size() * 4);
    };
    const Problem problem = interpret(s, {{a, bytes(va)}, {b, bytes(vb)}, {out, bytes(vo)}});
    EXPECT_FALSE(problem) << *problem;
    return vo;
  }
};

TEST(LowerPasses, FuseMultiplyAdd) {
  const Nest n;
  const Stmt before = n.nest(ForKind::Serial, ForKind::Serial), after = fuse_multiply_add(before);
  EXPECT_NE(print(after).find("out[i, j] = mul_add(a[i, j], b[i], out[i, j])"), std::string::npos);
  EXPECT_EQ(n.run(before), n.run(after));
}

TEST(LowerPasses, DropUnitLoopsPutsTheirOneValueInTheirPlace) {
  const Nest n;
  const Var once = make_var("once"), name = make_var("name"), wide = make_var("wide");
  const std::vector<Expr> at{var_ref(n.i) + var_ref(once) * int_imm(4), var_ref(wide)};
  Stmt inner = make_store(n.out, at, load(n.a, at));
  inner = make_for(wide, int_imm(0), int_imm(1), ForKind::Vectorized, inner);
  inner = make_let(once, var_ref(name) - int_imm(2), inner);
  inner = make_for(n.i, int_imm(0), int_imm(4), ForKind::Serial, inner);
  const Stmt before = make_for(name, int_imm(2), int_imm(1), ForKind::Unrolled, inner);
  const Stmt after = drop_unit_loops(before);
  const std::string text = print(after);
  EXPECT_EQ(text.find("name"), std::string::npos) << text;
  EXPECT_EQ(text.find("once"), std::string::npos) << text;
  EXPECT_NE(text.find("out[i, wide] = a[i, wide]"), std::string::npos) << text;
  EXPECT_NE(text.find("wide in 0 +1"), std::string::npos) << "a vector's loop is the vectoriser's";
  EXPECT_EQ(n.run(before), n.run(after));
  EXPECT_EQ(drop_unit_loops(after), after) << "what has none stays as it is";
}

TEST(LowerPasses, FlattenStorage) {
  const Nest n;
  const Stmt before = n.nest(ForKind::Serial, ForKind::Serial), after = flatten_storage(before);
  EXPECT_NE(
      print(after).find("out[((i * 8) + j)] = ((a[((i * 8) + j)] * b[i]) + out[((i * 8) + j)])"),
      std::string::npos)
      << print(after);
  EXPECT_EQ(n.run(before), n.run(after));
}

TEST(LowerPasses, VectorizeMakesRampsAndBroadcasts) {
  const Nest n;
  const Stmt before = n.nest(ForKind::Serial, ForKind::Vectorized);
  const auto after = vectorize(flatten_storage(before));
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_NE(print(*after).find("(a[ramp((i * 8), 1, 8)] * x8(b[i]))"), std::string::npos)
      << print(*after);
  EXPECT_EQ(n.run(before), n.run(*after));
  // Along i the accesses are strided, and the value of b is a vector.
  const Stmt strided = n.nest(ForKind::Vectorized, ForKind::Serial);
  EXPECT_FALSE(vectorize(flatten_storage(strided)));  // holds a loop, not stores
  const Stmt swapped = make_for(
      n.j, int_imm(0), int_imm(8), ForKind::Serial,
      make_for(n.i, int_imm(0), int_imm(4), ForKind::Vectorized,
               make_store(n.out, {var_ref(n.i), var_ref(n.j)}, load(n.b, {var_ref(n.i)}))));
  const auto vectors = vectorize(flatten_storage(swapped));
  ASSERT_TRUE(vectors);
  EXPECT_NE(print(*vectors).find("out[ramp(j, 8, 4)] = b[ramp(0, 1, 4)]"), std::string::npos)
      << print(*vectors);
  EXPECT_EQ(n.run(swapped), n.run(*vectors));
}

TEST(LowerPasses, VectorizeNeedsFlatStorage) {
  const Nest n;
  EXPECT_EQ(vectorize(n.nest(ForKind::Serial, ForKind::Vectorized)).error().code,
            ErrorCode::InvalidArgument);
}

TEST(LowerPasses, VectorizeFallsBackToVectorsOfIndices) {
  const Nest n;
  const Expr at = binary(BinaryOp::Mod, var_ref(n.j) * int_imm(3), int_imm(8));
  const Stmt gather = make_for(n.j, int_imm(0), int_imm(8), ForKind::Vectorized,
                               make_store(n.out, {int_imm(0), at}, load(n.a, {int_imm(1), at})));
  const auto after = vectorize(flatten_storage(gather));
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(n.run(gather), n.run(*after));
}

// A loop over two axes at once: elements that follow one another are a ramp, those that repeat are
// a vector of indices with nothing but constants beside its first.
TEST(LowerPasses, VectorizeRunsOverTwoAxesAtOnce) {
  const Nest n;
  const Var g = make_var("g"), c = make_var("c");
  const Expr j = var_ref(n.j), i = var_ref(n.i);
  const std::vector<Expr> at{i, var_ref(g) * int_imm(4) + var_ref(c)};
  const Stmt store =
      make_store(n.out, at, load(n.a, {i, var_ref(g) * int_imm(4) + int_imm(1)}) + load(n.a, at));
  const auto nest = [&](ForKind kind) {
    return make_for(n.i, int_imm(0), int_imm(4), ForKind::Serial,
                    make_for(n.j, int_imm(0), int_imm(8), kind,
                             make_let(g, binary(BinaryOp::Div, j, int_imm(4)),
                                      make_let(c, binary(BinaryOp::Mod, j, int_imm(4)), store))));
  };
  const auto after = vectorize(flatten_storage(nest(ForKind::Vectorized)));
  ASSERT_TRUE(after) << after.error().text();
  const std::string text = print(*after);
  EXPECT_NE(text.find("out[ramp((i * 8), 1, 8)]"), std::string::npos) << text;
  EXPECT_NE(text.find("a[ramp((i * 8), 1, 8)]"), std::string::npos) << text;
  EXPECT_EQ(text.find("let"), std::string::npos) << text;
  EXPECT_EQ(n.run(nest(ForKind::Serial)), n.run(*after));
}

TEST(LowerPasses, UnrollRepeatsTheBody) {
  const Nest n;
  const Stmt before = n.nest(ForKind::Unrolled, ForKind::Serial);
  const auto after = unroll(flatten_storage(before));
  ASSERT_TRUE(after);
  EXPECT_EQ(std::get<Block>((*after)->node).stmts.size(), 4u);
  EXPECT_EQ(n.run(before), n.run(*after));
  EXPECT_FALSE(unroll(n.nest(ForKind::Unrolled, ForKind::Unrolled), 31));
  EXPECT_TRUE(unroll(n.nest(ForKind::Unrolled, ForKind::Unrolled), 32));
}

// Each is what simplifying its iteration by itself makes of it.
TEST(LowerPasses, UnrolledIndicesShareWhatStaysTheSame) {
  const Nest n;
  const Buffer flat = buffer("flat", {64});
  const Expr i = var_ref(n.i), j = var_ref(n.j);
  const Var sum = make_var("sum");
  const std::vector<Expr> at{j * int_imm(3) + i * int_imm(8) - int_imm(5)};
  const Expr others = load(flat, {var_ref(sum)}) + load(flat, {j}) + load(flat, {i * int_imm(8)});
  const Stmt body = make_let(sum, i + j - int_imm(2), make_store(flat, at, others));
  const auto after =
      unroll(make_for(n.i, int_imm(0), int_imm(8), ForKind::Serial,
                      make_for(n.j, int_imm(0), int_imm(3), ForKind::Unrolled, body)));
  ASSERT_TRUE(after);
  const auto& copies = std::get<Block>(std::get<For>((*after)->node).body->node).stmts;
  ASSERT_EQ(copies.size(), 3u);
  std::set<const ExprNode*> beginnings;
  for (std::size_t k = 0; k < copies.size(); ++k) {
    const Stmt alone = simplify(substitute(body, {{n.j, int_imm(std::int64_t(k))}}));
    EXPECT_EQ(print(copies[k]), print(alone));
    const Expr& index = std::get<Store>(copies[k]->node).indices.at(0);
    beginnings.insert(std::get<Binary>(index->node).a.get());
  }
  EXPECT_EQ(beginnings.size(), 1u);
}

// What an iteration's condition shares with itself differs from one iteration to the next.
TEST(LowerPasses, UnrollDecidesASharedExpressionForEachIteration) {
  const Nest n;
  const Expr i = var_ref(n.i), j = var_ref(n.j), least = binary(BinaryOp::Min, i, j);
  const Stmt body = make_if(binary(BinaryOp::Lt, least + least, int_imm(4)),
                            make_store(n.out, {i, j}, load(n.a, {i, j})));
  const Stmt before = make_for(n.j, int_imm(0), int_imm(8), ForKind::Serial,
                               make_for(n.i, int_imm(0), int_imm(4), ForKind::Unrolled, body));
  const auto after = unroll(flatten_storage(before));
  ASSERT_TRUE(after);
  EXPECT_NE(print(*after).find("min(3, j)"), std::string::npos) << print(*after);
  EXPECT_EQ(n.run(before), n.run(*after));
}

TEST(LowerPasses, SplitPredicatesMakesABranchOfAUniformCondition) {
  const Nest n;
  const Expr inside = binary(BinaryOp::Lt, var_ref(n.i), int_imm(2));
  const Expr at = ramp(var_ref(n.i) * int_imm(8), 1, 8);
  const auto copy = [&](Expr predicate) {
    return make_for(n.i, int_imm(0), int_imm(4), ForKind::Serial,
                    make_store(n.out, {at}, load(n.a, {at}, std::move(predicate), 8)));
  };
  const Stmt before = copy(broadcast(inside, 8)), after = split_predicates(before);
  EXPECT_NE(print(after).find("if (i < 2) {"), std::string::npos) << print(after);
  EXPECT_EQ(print(after).find(" if ", print(after).find("out[")), std::string::npos);
  EXPECT_EQ(n.run(before), n.run(after));
  const Stmt lanes = copy(binary(BinaryOp::Lt, at, broadcast(int_imm(5), 8)));
  EXPECT_EQ(split_predicates(lanes), lanes);
}

// Into memory it stays a branch, and so does one that leaves something other than zeros.
TEST(LowerPasses, ReadOrZeroFillsRegistersWithoutABranch) {
  const Nest n;
  const Expr inside = broadcast(binary(BinaryOp::Lt, var_ref(n.i), int_imm(2)), 8);
  const Expr at = ramp(int_imm(0), 1, 8), from = ramp(var_ref(n.i) * int_imm(8), 1, 8);
  const Buffer tile = buffer("tile", {8}, Scope::Register);
  const auto through_tile = [&](const Stmt& copy) {
    const Stmt out = make_store(n.out, {from}, load(tile, {at}, nullptr, 8));
    return make_for(n.i, int_imm(0), int_imm(4), ForKind::Serial,
                    make_allocate(tile, make_block({copy, out})));
  };
  const Expr read = load(n.a, {from}, inside, 8);
  const Stmt branches = split_predicates(through_tile(make_store(tile, {at}, read)));
  const Stmt after = read_or_zero(branches);
  EXPECT_NE(print(branches).find("if (i < 2) {"), std::string::npos) << print(branches);
  EXPECT_EQ(print(after).find("if (i < 2) {"), std::string::npos) << print(after);
  EXPECT_NE(print(after).find(" if x8((i < 2))"), std::string::npos) << print(after);
  EXPECT_EQ(n.run(branches), n.run(after));
  const Stmt into_memory = split_predicates(make_store(n.out, {from}, read));
  EXPECT_EQ(read_or_zero(into_memory), into_memory);
  const Expr one = broadcast(float_imm(1), 8);
  const Stmt or_one =
      split_predicates(through_tile(make_store(tile, {at}, select(inside, read, one))));
  EXPECT_EQ(read_or_zero(or_one), or_one);
}

TEST(LowerPasses, ExtractParallel) {
  const Nest n;
  Function f;
  f.name = "f";
  f.parallel = make_var("task");
  f.body = n.nest(ForKind::Parallel, ForKind::Serial);
  const auto after = extract_parallel(f);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->parallel, n.i);
  EXPECT_EQ(after->extent, 4);
  EXPECT_EQ(print(after->body).find("parallel"), std::string::npos);
  f.body = n.nest(ForKind::Serial, ForKind::Parallel);
  EXPECT_FALSE(extract_parallel(f));
}

TEST(LowerPasses, FactsCountTimedLaunches) {
  const Nest n;
  Function f;
  f.name = "f";
  f.parallel = n.i;
  f.extent = 4;
  f.params = {n.a, n.b, n.out};
  f.written = {false, false, true};
  f.body = fuse_multiply_add(std::get<For>(n.nest(ForKind::Serial, ForKind::Serial)->node).body);
  Module m;
  m.buffers = {{n.a, Role::Input, {}},
               {n.b, Role::Constant, {}},
               {n.out, Role::Output, {}},
               {buffer("s", {10}), Role::Scratch, {}}};
  m.functions = {f};
  m.launches = {{0, {0, 1, 2}, false}, {0, {0, 1, 2}, true}};
  const ProgramFacts facts = program_facts(m);
  EXPECT_EQ(facts.operations, 2 * 32);
  EXPECT_EQ(facts.scratch_bytes, 40);
}

}  // namespace
}  // namespace fettle::lower
