// Fingerprints: the same for what is the same but for names, another one for everything else.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "host/ir/fingerprint.h"

namespace fettle::ir {
namespace {

// What a test changes of a loop that adds a scaled buffer to another.
struct Made {
  std::string name = "scale", loop = "i", buffer = "data";
  DataType type = kFloat32;
  std::int64_t extent = 8, length = 64, factor = 3;
  ForKind kind = ForKind::Serial;
  Scope scope = Scope::Register;
  BinaryOp op = BinaryOp::Add;
  bool other_var = false, guarded = false, swapped = false, written_first = false, shares = true;
};

Function make(const Made& how) {
  const auto buffer = [&](const std::string& name, Scope scope) {
    return std::make_shared<const BufferDecl>(BufferDecl{name, how.type, {how.length}, scope});
  };
  const Buffer in = buffer(how.buffer, Scope::Global), out = buffer("out", Scope::Global),
               tile = buffer("tile", how.scope);
  const Var i = make_var(how.loop), task = make_var("task");
  const Expr place = var_ref(how.other_var ? task : i) * int_imm(how.factor);
  const auto read = [&](const Expr& at) {
    return load(in, {at}, how.guarded ? binary(BinaryOp::Lt, place, int_imm(9)) : nullptr);
  };
  const Expr one = read(place), again = how.shares ? one : read(place);
  Function function;
  function.name = how.name;
  function.params = how.swapped ? std::vector{out, in} : std::vector{in, out};
  function.written = {how.written_first, true};
  function.parallel = task;
  function.body =
      make_for(i, int_imm(0), int_imm(how.extent), how.kind,
               make_allocate(tile, make_store(out, {place}, binary(how.op, one, again))));
  return function;
}

TEST(IrFingerprint, NamesOfVariablesAndBuffersDoNotCount) {
  const std::string plain = fingerprint(make({}));
  EXPECT_EQ(fingerprint(make({})), plain) << "other variables and buffers, of the same names";
  Made renamed;
  renamed.loop = "j", renamed.buffer = "image";
  EXPECT_EQ(fingerprint(make(renamed)), plain);
}

TEST(IrFingerprint, EverythingElseCounts) {
  const std::map<std::string, std::function<void(Made&)>> changes = {
      {"nothing", [](Made&) {}},
      {"name", [](Made& m) { m.name = "other"; }},
      {"type", [](Made& m) { m.type = {Scalar::Float64, 1}; }},
      {"extent", [](Made& m) { m.extent = 9; }},
      {"length", [](Made& m) { m.length = 65; }},
      {"factor", [](Made& m) { m.factor = 4; }},
      {"kind", [](Made& m) { m.kind = ForKind::Unrolled; }},
      {"scope", [](Made& m) { m.scope = Scope::Thread; }},
      {"operation", [](Made& m) { m.op = BinaryOp::Max; }},
      {"variable", [](Made& m) { m.other_var = true; }},
      {"predicate", [](Made& m) { m.guarded = true; }},
      {"order", [](Made& m) { m.swapped = true; }},
      {"written", [](Made& m) { m.written_first = true; }},
      {"sharing", [](Made& m) { m.shares = false; }},
  };
  std::map<std::string, std::string> seen;
  for (const auto& [what, change] : changes) {
    Made how;
    change(how);
    const auto [same, fresh] = seen.emplace(fingerprint(make(how)), what);
    EXPECT_TRUE(fresh) << what << " looks like " << same->second;
  }
}

// Two statements are not taken for one, nor a branch's two sides for each other.
TEST(IrFingerprint, TheShapeOfTheTreeCounts) {
  const Buffer out =
      std::make_shared<const BufferDecl>(BufferDecl{"out", kFloat32, {8}, Scope::Global});
  const auto store = [&](int at) { return make_store(out, {int_imm(at)}, float_imm(1)); };
  const Expr test = binary(BinaryOp::Lt, var_ref(make_var("v")), int_imm(2));
  std::map<std::string, int> seen;
  int number = 0;
  for (const Stmt& body :
       {store(0), store(1), make_block({store(0), store(1)}), make_block({store(1), store(0)}),
        make_if(test, store(0)), make_if(test, store(0), store(1)),
        make_if(test, store(1), store(0)), make_block({make_if(test, store(0)), store(1)})}) {
    Function function;
    function.params = {out};
    function.written = {true};
    function.parallel = make_var("task");
    function.body = body;
    EXPECT_TRUE(seen.emplace(fingerprint(function), number).second) << number;
    ++number;
  }
}

}  // namespace
}  // namespace fettle::ir
