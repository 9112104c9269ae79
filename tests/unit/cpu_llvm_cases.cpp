// Small hand-made modules, one per group of IR nodes, for the back end's tests.
#include "tests/unit/cpu_llvm_cases.h"

namespace fettle::testing {
namespace {

using namespace ir;  // NOLINT: this file is IR

constexpr DataType kFloat64{Scalar::Float64, 1};
constexpr DataType kFloat16{Scalar::Float16, 1};
constexpr DataType kInt8{Scalar::Int8, 1};
constexpr DataType kUInt8{Scalar::UInt8, 1};

// Collects buffers and statements of one function over `extent` parallel iterations.
class Builder {
 public:
  explicit Builder(std::string name, std::int64_t extent = 1) {
    function_.name = std::move(name);
    function_.parallel = make_var("p");
    function_.extent = extent;
  }
  Buffer reals(const char* name, std::int64_t count, DataType type = kFloat32) {
    return add(name, count, type, Role::Input, {Fill::Kind::UniformReal, 0.25, 1.0, ++stream_});
  }
  Buffer ints(const char* name, std::int64_t count, double low, double high,
              DataType type = kInt32) {
    return add(name, count, type, Role::Input, {Fill::Kind::UniformInt, low, high, ++stream_});
  }
  Buffer output(const char* name, std::int64_t count, DataType type = kFloat32) {
    return add(name, count, type, Role::Output, {});
  }
  Expr p() const { return var_ref(function_.parallel); }
  Function& function() { return function_; }
  void add(Stmt stmt) { stmts_.push_back(std::move(stmt)); }

  Module finish() {
    function_.body = make_block(stmts_);
    Launch launch;
    for (std::size_t i = 0; i < function_.params.size(); ++i)
      launch.buffers.push_back(static_cast<int>(i));
    module_.functions.push_back(function_);
    module_.launches.push_back(launch);
    return module_;
  }

 private:
  Buffer add(const char* name, std::int64_t count, DataType type, Role role, Fill fill) {
    auto buffer = std::make_shared<BufferDecl>();
    buffer->name = name;
    buffer->type = type;
    buffer->shape = {count};
    function_.params.push_back(buffer);
    function_.written.push_back(role == Role::Output);
    module_.buffers.push_back({buffer, role, fill});
    return buffer;
  }

  Module module_;
  Function function_;
  std::vector<Stmt> stmts_;
  std::uint64_t stream_ = 10;
};

Expr i32(std::int64_t value) { return int_imm(value); }
Stmt loop(const Var& var, Expr min, Expr extent, Stmt body) {
  return make_for(var, std::move(min), std::move(extent), ForKind::Serial, std::move(body));
}
Buffer local(const char* name, std::int64_t count, Scope scope, DataType type = kFloat32) {
  auto buffer = std::make_shared<BufferDecl>();
  buffer->name = name;
  buffer->type = type;
  buffer->shape = {count};
  buffer->scope = scope;
  return buffer;
}
Expr make(DataType type, decltype(ExprNode::node) node) {
  return std::make_shared<const ExprNode>(ExprNode{type, std::move(node)});
}

// out[k * n + i] = f_k(a[i], b[i]) for vectors of 8.
Case float_vectors() {
  Builder b("float_vectors", 4);
  Buffer x = b.reals("x", 32), y = b.reals("y", 32), out = b.output("out", 32 * 11);
  Expr at = ramp(b.p() * i32(8), 1, 8);
  Expr u = load(x, {at}, nullptr, 8), v = load(y, {at}, nullptr, 8);
  std::vector<Expr> values = {u + v,
                              u - v,
                              u * v,
                              binary(BinaryOp::Div, u, v),
                              binary(BinaryOp::Min, u, v),
                              binary(BinaryOp::Max, u, v),
                              unary(UnaryOp::Neg, u),
                              unary(UnaryOp::Abs, v),
                              unary(UnaryOp::Sqrt, unary(UnaryOp::Abs, u)),
                              unary(UnaryOp::Tf32, u),
                              select(binary(BinaryOp::Lt, u, v), u, broadcast(float_imm(3), 8))};
  for (std::size_t k = 0; k < values.size(); ++k) {
    Expr to = ramp(b.p() * i32(8) + i32(static_cast<std::int64_t>(k) * 32), 1, 8);
    b.add(make_store(out, {to}, values[k]));
  }
  return {"float_vectors", b.finish()};
}

Case floors() {
  Builder b("floors", 16);
  Buffer x = b.reals("x", 64), out = b.output("out", 128);
  Expr at = ramp(b.p() * i32(4), 1, 4);
  Expr u = load(x, {at}, nullptr, 4) * broadcast(float_imm(100), 4);
  b.add(make_store(out, {at}, unary(UnaryOp::Floor, u)));
  Expr huge = load(x, {b.p()}) * float_imm(1e12);
  b.add(make_store(out, {ramp(b.p() * i32(4) + i32(64), 1, 4)},
                   broadcast(unary(UnaryOp::Floor, huge), 4)));
  return {"floors", b.finish()};
}

// Halves, some of them ties, and what has no fraction.
Case rounds() {
  Builder b("rounds", 16);
  Buffer x = b.reals("x", 64), out = b.output("out", 192);
  Expr at = ramp(b.p() * i32(4), 1, 4);
  const auto wide = [](double value) { return broadcast(float_imm(value), 4); };
  Expr u = load(x, {at}, nullptr, 4) * wide(100);
  Expr halves = unary(UnaryOp::Floor, u) * wide(0.5);
  const auto to = [&](int part) { return ramp(b.p() * i32(4) + i32(64 * part), 1, 4); };
  b.add(make_store(out, {to(0)}, unary(UnaryOp::RoundEven, u)));
  b.add(make_store(out, {to(1)}, unary(UnaryOp::RoundEven, halves)));
  b.add(make_store(out, {to(2)}, unary(UnaryOp::RoundEven, u * wide(1e10))));
  return {"rounds", b.finish()};
}

Case integers() {
  Builder b("integers", 48);
  Buffer x = b.ints("x", 48, -1000, 1000), y = b.ints("y", 48, 1, 17),
         out = b.output("out", 48 * 14, kInt32);
  Expr u = load(x, {b.p()}), v = load(y, {b.p()});
  auto op = [&](BinaryOp o, Expr a, Expr c) { return binary(o, std::move(a), std::move(c)); };
  auto as_int = [&](Expr condition) { return select(std::move(condition), i32(1), i32(0)); };
  std::vector<Expr> values = {
      op(BinaryOp::Div, u, v),
      op(BinaryOp::Mod, u, v),
      op(BinaryOp::Div, u, i32(8)),
      op(BinaryOp::Mod, u, i32(8)),
      op(BinaryOp::Div, u, i32(7)),
      op(BinaryOp::Mod, u, i32(7)),
      op(BinaryOp::ShiftLeft, u, i32(3)),
      op(BinaryOp::ShiftRight, u, i32(2)),
      op(BinaryOp::Min, u, v),
      op(BinaryOp::Max, u, v),
      as_int(op(BinaryOp::And, op(BinaryOp::Le, u, v), op(BinaryOp::Ne, u, i32(3)))),
      as_int(op(BinaryOp::Or, op(BinaryOp::Eq, v, i32(4)),
                unary(UnaryOp::Not, op(BinaryOp::Lt, u, v)))),
      op(BinaryOp::Div, b.p() + v, v),
      op(BinaryOp::Mod, b.p(), v)};
  for (std::size_t k = 0; k < values.size(); ++k) {
    b.add(make_store(out, {b.p() + i32(static_cast<std::int64_t>(k) * 48)}, values[k]));
  }
  return {"integers", b.finish()};
}

Case integer_vectors() {
  Builder b("integer_vectors", 4);
  Buffer x = b.ints("x", 64, -128, 127, kInt8), y = b.ints("y", 64, 0, 255, kUInt8);
  Buffer sum = b.output("sum", 64, kInt32), wide = b.output("wide", 64, kInt64),
         back = b.output("back", 64, kInt8);
  Expr at = ramp(b.p() * i32(16), 1, 16);
  DataType v32 = kInt32.with_lanes(16);
  Expr u = cast(v32, load(x, {at}, nullptr, 16)), v = cast(v32, load(y, {at}, nullptr, 16));
  b.add(make_store(sum, {at}, u * v + u));
  b.add(make_store(wide, {at}, cast(kInt64.with_lanes(16), u * v)));
  Expr low = broadcast(i32(-100), 16), high = broadcast(i32(100), 16);
  b.add(make_store(
      back, {at},
      cast(kInt8.with_lanes(16), binary(BinaryOp::Max, low, binary(BinaryOp::Min, high, u + v)))));
  return {"integer_vectors", b.finish()};
}

Case conversions() {
  Builder b("conversions", 24);
  Buffer x = b.reals("x", 24), n = b.ints("n", 24, -500, 500);
  Buffer out = b.output("out", 24 * 2), whole = b.output("whole", 24, kInt32);
  Buffer doubles = b.output("doubles", 24, kFloat64), flags = b.output("flags", 24, kBool),
         bits = b.output("bits", 24, kInt32);
  Expr u = load(x, {b.p()}), k = load(n, {b.p()});
  b.add(make_store(out, {b.p()}, cast(kFloat32, k) * u));
  b.add(make_store(whole, {b.p()}, cast(kInt32, u * float_imm(1000))));
  b.add(make_store(doubles, {b.p()}, cast(kFloat64, u) * float_imm(1.0 / 3, kFloat64)));
  b.add(make_store(flags, {b.p()}, binary(BinaryOp::Lt, u, float_imm(0))));
  b.add(make_store(out, {b.p() + i32(24)},
                   select(load(flags, {b.p()}), u, cast(kFloat32, load(doubles, {b.p()})))));
  b.add(make_store(bits, {b.p()}, make(kInt32, Reinterpret{u})));
  return {"conversions", b.finish()};
}

// What ARMv7 has no instructions for, and what LLVM has library functions for elsewhere.
Case conversions_of_doubles() {
  Builder b("conversions_of_doubles", 24);
  Buffer x = b.reals("x", 24, kFloat64), n = b.ints("n", 24, -500, 500);
  Buffer whole = b.output("whole", 48, kInt64), doubles = b.output("doubles", 24, kFloat64),
         halves = b.output("halves", 24, kFloat16);
  Expr u = load(x, {b.p()}), sign = cast(kFloat64, load(n, {b.p()}));
  b.add(make_store(whole, {b.p()}, cast(kInt64, u * sign * float_imm(1e15, kFloat64))));
  b.add(make_store(whole, {b.p() + i32(24)}, cast(kInt64, u * sign)));
  // Beyond 2^53: some are rounded.
  b.add(make_store(doubles, {b.p()}, cast(kFloat64, load(whole, {b.p()}))));
  b.add(make_store(halves, {b.p()}, cast(kFloat16, u * sign)));
  return {"conversions_of_doubles", b.finish()};
}

// Loads with strides 3, 0 and -1, an index vector from memory, a strided store.
Case strides() {
  Builder b("strides", 2);
  Buffer x = b.reals("x", 64), where = b.ints("where", 16, 0, 63);
  Buffer out = b.output("out", 80);
  Expr base = b.p() * i32(8);
  auto put = [&](int row, Expr value) {
    b.add(make_store(out, {ramp(base + i32(row * 16), 1, 8)}, std::move(value)));
  };
  put(0, load(x, {ramp(base, 3, 8)}, nullptr, 8));
  put(1, load(x, {ramp(base, 0, 8)}, nullptr, 8));
  put(2, load(x, {ramp(base + i32(20), -1, 8)}, nullptr, 8));
  put(3, load(x, {load(where, {ramp(base, 1, 8)}, nullptr, 8)}, nullptr, 8));
  b.add(make_store(out, {ramp(b.p() + i32(64), 2, 8)}, load(x, {ramp(base, 1, 8)}, nullptr, 8)));
  return {"strides", b.finish()};
}

// A tail of 5 of 8 lanes, loaded and stored under a mask; gathers, scatters, scalars too.
Case masks() {
  Builder b("masks", 3);
  Buffer x = b.reals("x", 21), out = b.output("out", 21), gathered = b.output("gathered", 24);
  Buffer scattered = b.output("scattered", 21), single = b.output("single", 3);
  Expr lane = ramp(b.p() * i32(8), 1, 8);
  Expr inside = binary(BinaryOp::Lt, lane, broadcast(i32(21), 8));
  b.add(make_store(out, {lane}, load(x, {lane}, inside, 8) + broadcast(float_imm(1), 8), inside));
  Expr twice = ramp(b.p() * i32(16), 2, 8);
  b.add(make_store(gathered, {lane},
                   load(x, {twice}, binary(BinaryOp::Lt, twice, broadcast(i32(21), 8)), 8)));
  Expr backward = ramp(i32(20) - b.p() * i32(8), -1, 8);
  Expr valid = binary(BinaryOp::Le, broadcast(i32(0), 8), backward);
  b.add(make_store(scattered, {backward}, load(x, {lane}, inside, 8), valid));
  // All lanes or none; where none, far in front of the buffer.
  Buffer padded = b.output("padded", 24);
  Expr row = broadcast(binary(BinaryOp::Eq, b.p(), i32(1)), 8);
  Expr far = ramp((b.p() - i32(1)) * i32(100'000), 1, 8);
  b.add(make_store(padded, {lane}, load(x, {far}, row, 8) + broadcast(float_imm(2), 8)));
  Expr first = binary(BinaryOp::Lt, b.p(), i32(2));
  b.add(make_store(single, {b.p()}, float_imm(7)));
  b.add(make_store(single, {b.p()}, load(x, {b.p() * i32(15)}, first), first));
  return {"masks", b.finish()};
}

// c[6][32] += a[6][k] * b[k][32] with a 6x16 tile in registers, k in a loop.
Case register_tile() {
  Builder b("register_tile", 2);
  constexpr int kRows = 6, kDepth = 37, kColumns = 32;
  Buffer x = b.reals("x", kRows * kDepth), y = b.reals("y", kDepth * kColumns),
         out = b.output("out", kRows * kColumns);
  Buffer tile = local("tile", kRows * 16, Scope::Register);
  Var k = make_var("k");
  std::vector<Stmt> init, update, finish;
  for (int row = 0; row < kRows; ++row) {
    Expr at = ramp(i32(row * 16), 1, 16);
    init.push_back(make_store(tile, {at}, broadcast(float_imm(0), 16)));
    Expr left = broadcast(load(x, {i32(row * kDepth) + var_ref(k)}), 16);
    Expr right = load(y, {ramp(var_ref(k) * i32(kColumns) + b.p() * i32(16), 1, 16)}, nullptr, 16);
    update.push_back(make_store(tile, {at}, mul_add(left, right, load(tile, {at}, nullptr, 16))));
    finish.push_back(make_store(out, {ramp(b.p() * i32(16) + i32(row * kColumns), 1, 16)},
                                load(tile, {at}, nullptr, 16)));
  }
  b.add(make_allocate(
      tile, make_block({make_block(init), loop(k, i32(0), i32(kDepth), make_block(update)),
                        make_block(finish)})));
  return {"register_tile", b.finish(), true};
}

// Rows of growing length through a stack buffer, with Let and IfThenElse.
Case control() {
  Builder b("control", 9);
  Buffer x = b.reals("x", 9 * 16), out = b.output("out", 9 * 16);
  b.function().thread = make_var("thread");
  Buffer row = local("row", 16, Scope::Thread);
  Var i = make_var("i"), j = make_var("j"), start = make_var("start");
  Expr at = var_ref(start) + var_ref(i);
  Stmt fill = loop(i, i32(0), i32(16), make_store(row, {var_ref(i)}, float_imm(0)));
  Stmt copy = loop(i, i32(1), b.p(), make_store(row, {var_ref(i)}, load(x, {at}) * float_imm(2)));
  Stmt choose = make_if(binary(BinaryOp::Lt, binary(BinaryOp::Mod, var_ref(j), i32(3)), i32(2)),
                        make_store(out, {var_ref(start) + var_ref(j)}, load(row, {var_ref(j)})),
                        make_store(out, {var_ref(start) + var_ref(j)}, float_imm(-1)));
  Stmt body = make_block({fill, copy, loop(j, i32(0), i32(16), choose),
                          make_if(binary(BinaryOp::Eq, b.p(), i32(4)),
                                  make_store(out, {var_ref(start)}, float_imm(5)))});
  Expr never = binary(BinaryOp::Lt, var_ref(b.function().thread), i32(0));
  b.add(make_if(unary(UnaryOp::Not, never),
                make_allocate(row, make_let(start, b.p() * i32(16), body))));
  return {"control", b.finish()};
}

// Double precision, and vectors wider than any register.
Case wide() {
  Builder b("wide", 2);
  Buffer x = b.reals("x", 128, kFloat64), out = b.output("out", 128, kFloat64);
  Expr at = ramp(b.p() * i32(64), 1, 64);
  Expr u = load(x, {at}, nullptr, 64);
  b.add(make_store(out, {at},
                   u * u - binary(BinaryOp::Max, u, broadcast(float_imm(0.5, kFloat64), 64))));
  return {"wide", b.finish()};
}

// Rows of vectors whose lanes are stored apart, at neighbouring places: transposed, but where
// a row reads what the rows before it wrote, or where lanes are so close that rows overlap.
Case transposed_rows() {
  Builder b("transposed_rows", 3);
  Buffer x = b.reals("x", 3 * 14 * 8), y = b.reals("y", 3 * 14 * 8),
         out = b.output("out", 3 * 14 * 8);
  for (std::int64_t row = 0; row < 14; ++row) {
    Expr at = ramp(b.p() * i32(112) + i32(row * 8), 1, 8);
    Expr apart = ramp(b.p() * i32(112) + i32(row), 14, 8);
    b.add(make_store(out, {apart}, load(x, {at}, nullptr, 8) + load(y, {apart}, nullptr, 8)));
  }
  Buffer bytes = b.ints("bytes", 3 * 256, -128, 127, kInt8),
         turned = b.output("turned", 3 * 256, kInt8);
  for (std::int64_t row = 0; row < 16; ++row) {
    Expr at = ramp(b.p() * i32(256) + i32(row * 16), 1, 16);
    Expr apart = ramp(b.p() * i32(256) + i32(row), 16, 16);
    b.add(make_store(turned, {apart}, load(bytes, {at}, nullptr, 16)));
  }
  Buffer chain = b.output("chain", 3 * 32);
  for (std::int64_t row = 0; row < 4; ++row) {
    Expr apart = ramp(b.p() * i32(32) + i32(row), 8, 4);
    Expr before = row == 0 ? broadcast(float_imm(1), 4)
                           : load(chain, {ramp(b.p() * i32(32) + i32(row - 1), 8, 4)}, nullptr, 4);
    b.add(make_store(chain, {apart}, before + load(x, {ramp(i32(4 * row), 1, 4)}, nullptr, 4)));
  }
  for (std::int64_t row = 4; row < 8; ++row) {
    Expr apart = ramp(b.p() * i32(32) + i32(row), 8, 4);
    b.add(make_store(chain, {apart}, broadcast(float_imm(2), 4)));
  }
  Buffer close = b.output("close", 3 * 16);
  for (std::int64_t row = 0; row < 7; ++row) {
    Expr apart = ramp(b.p() * i32(16) + i32(row), 3, 4);
    b.add(make_store(close, {apart}, load(x, {ramp(i32(4 * row), 1, 4)}, nullptr, 4)));
  }
  return {"transposed_rows", b.finish()};
}

// What a block loaded once is loaded anew where it was written in between: as a vector, one lane of
// it, under a condition, by rows that are stored apart.
Case written_between() {
  Builder b("written_between", 2);
  Buffer x = b.reals("x", 16), out = b.output("out", 2 * 48), apart = b.output("apart", 2 * 16);
  const auto at = [&](std::int64_t vector) {
    return ramp(b.p() * i32(48) + i32(8 * vector), 1, 8);
  };
  const auto held = [&](std::int64_t vector) { return load(out, {at(vector)}, nullptr, 8); };
  const Expr first = load(x, {ramp(i32(0), 1, 8)}, nullptr, 8);
  b.add(make_store(out, {at(0)}, first));
  b.add(make_store(out, {at(1)}, held(0) + first));
  b.add(make_store(out, {at(0)}, held(0) * held(1)));
  b.add(make_store(out, {at(2)}, held(0) + held(1)));
  b.add(make_store(out, {b.p() * i32(48) + i32(3)}, float_imm(7)));
  b.add(make_store(out, {at(3)}, held(0)));
  b.add(make_if(binary(BinaryOp::Eq, b.p(), i32(1)), make_store(out, {at(0)}, held(2))));
  b.add(make_store(out, {at(4)}, held(0)));
  const auto row = [&](std::int64_t number) { return ramp(b.p() * i32(16) + i32(number), 4, 4); };
  const Expr begin = ramp(b.p() * i32(16), 1, 4);
  b.add(make_store(apart, {row(0)}, load(x, {ramp(i32(0), 1, 4)}, nullptr, 4)));
  b.add(make_store(out, {ramp(b.p() * i32(48) + i32(40), 1, 4)}, load(apart, {begin}, nullptr, 4)));
  for (std::int64_t i = 0; i < 4; ++i) {
    b.add(make_store(apart, {row(i)}, load(x, {ramp(i32(4 * i), 1, 4)}, nullptr, 4)));
  }
  b.add(make_store(out, {ramp(b.p() * i32(48) + i32(44), 1, 4)}, load(apart, {begin}, nullptr, 4)));
  return {"written_between", b.finish()};
}

// A prepare launch packs into a scratch buffer that the run launch reads.
Case two_launches() {
  Builder pack("pack", 4);
  Buffer weights = pack.reals("weights", 64), packed = pack.output("packed", 64);
  pack.add(make_store(packed, {ramp(pack.p() * i32(16), 1, 16)},
                      load(weights, {ramp(pack.p(), 4, 16)}, nullptr, 16)));
  Module module = pack.finish();
  module.buffers[0].role = Role::Constant;
  module.buffers[1].role = Role::Scratch;
  module.launches[0].prepare = true;

  Builder use("use", 8);
  Buffer from = use.output("packed", 64), out = use.output("out", 64);
  use.function().written[0] = false;
  Expr at = ramp(use.p() * i32(8), 1, 8);
  use.add(make_store(out, {at}, load(from, {at}, nullptr, 8) + broadcast(float_imm(1), 8)));
  Module second = use.finish();
  module.buffers.push_back(second.buffers[1]);
  module.functions.push_back(second.functions[0]);
  module.launches.push_back({1, {1, 2}, false});
  return {"two_launches", module};
}

}  // namespace

std::vector<Case> backend_cases() {
  return {float_vectors(),
          floors(),
          rounds(),
          integers(),
          integer_vectors(),
          conversions(),
          conversions_of_doubles(),
          strides(),
          masks(),
          register_tile(),
          control(),
          wide(),
          transposed_rows(),
          written_between(),
          two_launches()};
}

}  // namespace fettle::testing
