// The interpreter: what each node means, and which errors it finds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "host/ir/interpreter.h"
#include "host/ir/intrinsics.h"
#include "host/ir/tf32.h"

namespace fettle::ir {
namespace {

Buffer buffer(const char* name, DataType type, std::vector<std::int64_t> shape,
              Scope scope = Scope::Global) {
  return std::make_shared<BufferDecl>(BufferDecl{name, type, std::move(shape), scope});
}

template <typename T>
std::span<std::uint8_t> bytes(std::vector<T>& v) {
  return {reinterpret_cast<std::uint8_t*>(v.data()), v.size() * sizeof(T)};
}

// Evaluates a float32 or int32 expression (vector or not) by storing it.
template <typename T>
std::vector<T> evaluate(const Expr& e) {
  const Buffer out = buffer("out", e->type.element(), {e->type.lanes});
  std::vector<T> data(e->type.lanes);
  const Expr at = e->type.lanes > 1 ? ramp(int_imm(0), 1, e->type.lanes) : int_imm(0);
  const Problem problem = interpret(make_store(out, {at}, e), {{out, bytes(data)}});
  EXPECT_FALSE(problem) << *problem;
  return data;
}

TEST(IrInterpreter, VectorsAndRamps) {
  EXPECT_EQ(evaluate<std::int32_t>(ramp(int_imm(5), -2, 4)),
            (std::vector<std::int32_t>{5, 3, 1, -1}));
  const Expr two = broadcast(int_imm(2), 4);
  EXPECT_EQ(evaluate<std::int32_t>(ramp(int_imm(0), 1, 4) * two),
            (std::vector<std::int32_t>{0, 2, 4, 6}));
  const Expr odd = binary(BinaryOp::Eq, binary(BinaryOp::Mod, ramp(int_imm(-2), 1, 4), two),
                          broadcast(int_imm(1), 4));
  EXPECT_EQ(evaluate<std::int32_t>(select(odd, two, ramp(int_imm(-2), 1, 4))),
            (std::vector<std::int32_t>{-2, 2, 0, 2}));
}

TEST(IrInterpreter, FloatsAreRoundedToTheirType) {
  // 1 + 2^-24 is not a float32: rounded once to 1.
  const Var v = make_var("v");
  const Expr one = cast(kFloat32, var_ref(v)), tiny = float_imm(0x1p-24);
  const Buffer out = buffer("out", kFloat32, {2});
  std::vector<float> data(2);
  const Stmt s =
      make_block({make_store(out, {int_imm(0)}, one + tiny),
                  make_store(out, {int_imm(1)}, mul_add(one, tiny, float_imm(-0x1p-24)))});
  ASSERT_FALSE(interpret(s, {{out, bytes(data)}}, {{v, 1}}));
  EXPECT_EQ(data[0], 1.0f);
  EXPECT_EQ(data[1], 0.0f);
}

// Of the two values with 10 bits of fraction around it the nearer; the larger of equally near ones.
TEST(IrInterpreter, Tf32IsTheNearestWithTenBits) {
  const auto nearest = [](float value) {
    int exponent = 0;
    const double size = std::fabs(double{value}), step = std::ldexp(1, -11);
    const double f = std::frexp(size, &exponent);  // in [0.5, 1): its last of 11 bits is 2^-11
    const double low = std::floor(f / step) * step, high = low + step;
    const double chosen = high - f <= f - low ? high : low;
    return std::copysign(float(std::ldexp(chosen, exponent)), value);
  };
  const auto rounded = [](float value) {
    return evaluate<float>(unary(UnaryOp::Tf32, float_imm(value))).front();
  };
  for (const float tie : {1 + 0x1p-11f, 1 + 0x3p-11f, 0x1p-100f + 0x1p-111f}) {
    EXPECT_EQ(rounded(tie), nearest(tie));
    EXPECT_EQ(rounded(-tie), -rounded(tie));
    EXPECT_GT(rounded(tie), tie) << "away from zero";
    EXPECT_LT(rounded(std::nextafter(tie, 0.f)), tie);
  }
  EXPECT_EQ(rounded(std::nextafter(2.f, 0.f)), 2.f);
  EXPECT_EQ(rounded(0.f), 0.f);
  EXPECT_EQ(rounded(1 + 0x1p-10f), 1 + 0x1p-10f) << "what has ten bits stays";
  float value = 0.7f;
  for (int i = 0; i < 1000; ++i, value = -value * 1.03f) {
    ASSERT_EQ(rounded(value), nearest(value)) << value;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded_to_tf32(-infinity), -infinity);
  EXPECT_TRUE(std::isnan(rounded_to_tf32(std::bit_cast<float>(0x7fffffffu))));
}

TEST(IrInterpreter, RoundsToTheNearestEven) {
  const std::pair<float, float> kRounded[] = {
      {0.5f, 0},          {1.5f, 2},        {2.5f, 2},         {-0.5f, 0},
      {-1.5f, -2},        {0.49999997f, 0}, {-2.5000002f, -3}, {8388607.5f, 8388608},
      {8388609, 8388609}, {-7, -7}};
  for (const auto& [value, whole] : kRounded) {
    EXPECT_EQ(evaluate<float>(unary(UnaryOp::RoundEven, float_imm(value))).front(), whole) << value;
  }
}

TEST(IrInterpreter, IntegersWrapAndShift) {
  const Var v = make_var("v", {Scalar::Int8, 1});
  const Buffer out = buffer("out", {Scalar::Int8, 1}, {2});
  std::vector<std::int8_t> data(2);
  const Expr e = var_ref(v), one = int_imm(1, v->type);
  const Stmt s = make_block(
      {make_store(out, {int_imm(0)}, e + one),
       make_store(out, {int_imm(1)}, binary(BinaryOp::ShiftRight, unary(UnaryOp::Neg, e), one))});
  ASSERT_FALSE(interpret(s, {{out, bytes(data)}}, {{v, 127}}));
  EXPECT_EQ(data[0], -128);
  EXPECT_EQ(data[1], -64);  // arithmetic shift of -127
}

TEST(IrInterpreter, DotProductsOfBytes) {
  // The bytes of 0x80ff0203, lowest first: 3, 2, 255 or -1, 128 or -128; of 0x7f80ff01: 1, -1,
  // -128, 127.
  const Expr a = int_imm(0x80ff0203), b = int_imm(0x7f80ff01), ten = int_imm(10);
  const auto value = [&](const Expr& e) { return evaluate<std::int32_t>(broadcast(e, 2)); };
  const std::int32_t with_sign = 10 + 3 - 2 + 128 - 128 * 127;
  const std::int32_t without = 10 + 3 - 2 - 255 * 128 + 128 * 127;
  const IntrinsicRow &s8s8 = *find_intrinsic("dot4_s8s8"), &u8s8 = *find_intrinsic("dot4_u8s8");
  EXPECT_EQ(value(intrinsic(s8s8, {a, b, ten})), (std::vector<std::int32_t>{with_sign, with_sign}));
  EXPECT_EQ(value(intrinsic(u8s8, {a, b, ten})), (std::vector<std::int32_t>{without, without}));
  // Sums wrap.
  const Expr most = int_imm(std::numeric_limits<std::int32_t>::max()), one = int_imm(1);
  EXPECT_EQ(value(intrinsic(s8s8, {one, one, most})).front(),
            std::numeric_limits<std::int32_t>::min());
}

TEST(IrInterpreter, LoopsLetsAndBranches) {
  const Buffer out = buffer("out", kInt32, {3, 2});
  const Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  std::vector<std::int32_t> data(6, -1);
  const Stmt body = make_let(k, var_ref(i) * int_imm(10) + var_ref(j),
                             make_if(binary(BinaryOp::Lt, var_ref(i), int_imm(2)),
                                     make_store(out, {var_ref(i), var_ref(j)}, var_ref(k)),
                                     make_store(out, {var_ref(i), var_ref(j)}, int_imm(7))));
  const Stmt nest = make_for(i, int_imm(0), int_imm(3), ForKind::Parallel,
                             make_for(j, int_imm(0), int_imm(2), ForKind::Vectorized, body));
  ASSERT_FALSE(interpret(nest, {{out, bytes(data)}}));
  EXPECT_EQ(data, (std::vector<std::int32_t>{0, 1, 10, 11, 7, 7}));
}

// Four threads: each writes an element that the block shares, and reads another's.
TEST(IrInterpreter, SharedNodesAreComputedOnceInAStoreAndAnewInTheNext) {
  // As a tree 2^40 loads. Each iteration reads what the one before it stored.
  const Buffer out = buffer("out", kInt32, {1});
  Expr sum = load(out, {int_imm(0)}) + int_imm(1);
  for (int k = 0; k < 40; ++k) sum = binary(BinaryOp::Max, sum, sum + int_imm(0) * sum);
  const Stmt loop = make_for(make_var("i"), int_imm(0), int_imm(5), ForKind::Serial,
                             make_store(out, {int_imm(0)}, sum));
  std::vector<std::int32_t> data{10};
  const Problem problem = interpret(loop, {{out, bytes(data)}});
  ASSERT_FALSE(problem) << *problem;
  EXPECT_EQ(data[0], 15);
}

TEST(IrInterpreter, ThreadsMeetAtBarriers) {
  const Buffer out = buffer("out", kInt32, {2, 4}),
               shared = buffer("shared", kInt32, {4}, Scope::BlockShared),
               own = buffer("own", kInt32, {1}, Scope::Register);
  const Var block = make_var("block"), t = make_var("t"), round = make_var("round");
  const auto run = [&](const Stmt& between, std::vector<std::int32_t>& data) {
    const Expr me = var_ref(t), other = int_imm(3) - me, first = int_imm(0);
    const Stmt body =
        make_block({make_store(shared, {me}, me * int_imm(10) + var_ref(round)), between,
                    make_store(own, {first}, load(shared, {other})), between,
                    make_store(out, {var_ref(block), me}, load(own, {first}) + var_ref(block))});
    const Stmt rounds = make_for(round, int_imm(0), int_imm(2), ForKind::Serial, body);
    const Stmt threads = make_for(t, int_imm(0), int_imm(4), ForKind::Bound,
                                  make_allocate(own, rounds), ThreadAxis::ThreadX);
    const Stmt blocks = make_for(block, int_imm(0), int_imm(2), ForKind::Bound,
                                 make_allocate(shared, threads), ThreadAxis::BlockX);
    return interpret(blocks, {{out, bytes(data)}});
  };
  std::vector<std::int32_t> data(8);
  const Stmt barrier = make_barrier(Scope::BlockShared);
  const Problem problem = run(barrier, data);
  ASSERT_FALSE(problem) << *problem;
  EXPECT_EQ(data, (std::vector<std::int32_t>{31, 21, 11, 1, 32, 22, 12, 2}));
  EXPECT_TRUE(run(make_block({}), data));  // read before written
  const Expr some = binary(BinaryOp::Lt, var_ref(t), int_imm(2));
  const Problem apart = run(make_if(some, barrier), data);
  ASSERT_TRUE(apart);
  EXPECT_NE(apart->find("not all threads"), std::string::npos) << *apart;
}

TEST(IrInterpreter, LanesThatAreOffTouchNoMemory) {
  const Buffer in = buffer("in", kFloat32, {2}), out = buffer("out", kFloat32, {4});
  std::vector<float> from{1, 2}, to(4, 9);
  const Expr at = ramp(int_imm(0), 1, 4);
  const Expr on = binary(BinaryOp::Lt, at, broadcast(int_imm(2), 4));
  const Expr not_last = binary(BinaryOp::Lt, at, broadcast(int_imm(3), 4));
  ASSERT_FALSE(interpret(make_store(out, {at}, load(in, {at}, on, 4), not_last),
                         {{in, bytes(from)}, {out, bytes(to)}}));
  EXPECT_EQ(to, (std::vector<float>{1, 2, 0, 9}));
}

TEST(IrInterpreter, EveryAccessIsChecked) {
  const Buffer out = buffer("out", kFloat32, {2, 3});
  std::vector<float> data(6);
  const auto store_at = [&](std::int64_t i, std::int64_t j) {
    return interpret(make_store(out, {int_imm(i), int_imm(j)}, float_imm(1)), {{out, bytes(data)}});
  };
  EXPECT_FALSE(store_at(1, 2));
  EXPECT_TRUE(store_at(0, 3));  // inside the buffer, outside its row
  EXPECT_TRUE(store_at(2, 0));
  EXPECT_TRUE(store_at(-1, 0));
  EXPECT_TRUE(interpret(make_store(out, {int_imm(6)}, float_imm(1)), {{out, bytes(data)}}));
  EXPECT_FALSE(interpret(make_store(out, {int_imm(5)}, float_imm(1)), {{out, bytes(data)}}));
}

TEST(IrInterpreter, UnwrittenAllocationsAreNotRead) {
  const Buffer tile = buffer("tile", kFloat32, {2}, Scope::Register),
               out = buffer("out", kFloat32, {1});
  std::vector<float> data(1);
  const Stmt read = make_store(out, {int_imm(0)}, load(tile, {int_imm(1)}));
  const Stmt write = make_store(tile, {int_imm(1)}, float_imm(3));
  EXPECT_TRUE(interpret(make_allocate(tile, read), {{out, bytes(data)}}));
  EXPECT_FALSE(interpret(make_allocate(tile, make_block({write, read})), {{out, bytes(data)}}));
  EXPECT_EQ(data[0], 3);
}

TEST(IrInterpreter, DivisionByZeroIsAnError) {
  const Buffer out = buffer("out", kInt32, {1});
  std::vector<std::int32_t> data(1);
  const Var v = make_var("v");
  const Stmt s = make_store(out, {int_imm(0)}, binary(BinaryOp::Div, int_imm(1), var_ref(v)));
  EXPECT_TRUE(interpret(s, {{out, bytes(data)}}, {{v, 0}}));
  EXPECT_FALSE(interpret(s, {{out, bytes(data)}}, {{v, 2}}));
}

TEST(IrInterpreter, ModulesRunPrepareFirstAndShareTasks) {
  const Buffer a = buffer("a", kInt32, {4}), b = buffer("b", kInt32, {4});
  const auto function = [](const char* name, const Buffer& from, const Buffer& to, bool add) {
    Function f;
    f.name = name;
    f.parallel = make_var("task");
    f.thread = make_var("thread");
    f.extent = 4;
    f.params = {from, to};
    f.written = {false, true};
    const Expr at = var_ref(f.parallel);
    f.body = make_store(to, {at}, add ? load(from, {at}) + var_ref(f.thread) : at * int_imm(10));
    return f;
  };
  Module m;
  m.buffers = {{a, Role::Scratch, {}}, {b, Role::Output, {}}};
  m.functions = {function("run", a, b, true), function("prepare", b, a, false)};
  m.launches = {{0, {0, 1}, false}, {1, {1, 0}, true}};
  std::vector<std::vector<std::uint8_t>> buffers(2, std::vector<std::uint8_t>(16));
  ASSERT_FALSE(interpret(m, buffers, 2));
  std::int32_t out[4];
  std::memcpy(out, buffers[1].data(), sizeof out);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 10);
  EXPECT_EQ(out[2], 21);  // the second thread's
  EXPECT_EQ(out[3], 31);
}

}  // namespace
}  // namespace fettle::ir
