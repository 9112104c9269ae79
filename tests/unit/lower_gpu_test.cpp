// The GPU's own passes: bytes joined, loops that stage ahead.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/lower/gpu/features.h"
#include "host/lower/gpu/join_bytes.h"
#include "host/lower/gpu/pipeline.h"
#include "host/lower/loop_nest.h"
#include "host/space/operators/stages.h"
#include "host/space/workload.h"

namespace fettle::lower {
namespace {

using ir::Expr;
using ir::Stmt;

ir::Buffer buffer(const char* name, ir::DataType type, std::vector<std::int64_t> shape,
                  ir::Scope scope = ir::Scope::Global) {
  return std::make_shared<ir::BufferDecl>(ir::BufferDecl{name, type, std::move(shape), scope});
}

// An int32 of four int8: those from 4 * i + `first` on, `step` apart, where `on` says so.
std::string joined(std::int64_t first, std::int64_t step, const Expr& on = nullptr,
                   const Expr& last_on = nullptr) {
  const ir::Buffer in = buffer("in", {ir::Scalar::Int8, 1}, {64}),
                   out = buffer("out", ir::kInt32, {8});
  const ir::Var i = ir::make_var("i");
  std::vector<Expr> four;
  for (std::int64_t b = 0; b < 4; ++b) {
    const Expr at = ir::var_ref(i) * ir::int_imm(4) + ir::int_imm(first + b * step);
    four.push_back(ir::load(in, {at}, b == 3 && last_on ? last_on : on));
  }
  const Stmt loop = ir::make_for(i, ir::int_imm(0), ir::int_imm(8), ir::ForKind::Serial,
                                 ir::make_store(out, {ir::var_ref(i)}, space::packed_bytes(four)));
  return ir::print(join_bytes(loop));
}

TEST(LowerGpu, NeighbouringBytesAreOneLoad) {
  const auto is_one = [](const std::string& text) {
    return text.find("<<") == std::string::npos && text.find("shift") == std::string::npos;
  };
  const Expr on = ir::binary(ir::BinaryOp::Lt, ir::var_ref(ir::make_var("j")), ir::int_imm(3));
  EXPECT_TRUE(is_one(joined(0, 1))) << joined(0, 1);
  EXPECT_TRUE(is_one(joined(8, 1, on))) << joined(8, 1, on);
  EXPECT_FALSE(is_one(joined(2, 1))) << "not at a multiple of four";
  EXPECT_FALSE(is_one(joined(0, 2))) << "apart";
  const Expr other = ir::binary(ir::BinaryOp::Lt, ir::var_ref(ir::make_var("j")), ir::int_imm(4));
  EXPECT_FALSE(is_one(joined(0, 1, on, other))) << "not all there together";
}

// Four threads sum pairs of what they have put into memory together.
ir::Function staged(ir::Pipeline pipeline, bool ends_with_barrier = true) {
  const ir::Buffer in = buffer("in", ir::kFloat32, {10, 4}), out = buffer("out", ir::kFloat32, {4}),
                   shared = buffer("shared", ir::kFloat32, {4}, ir::Scope::BlockShared);
  const ir::Var t = ir::make_var("t"), k = ir::make_var("k");
  const Expr me = ir::var_ref(t), other = ir::int_imm(3) - me;
  const Stmt barrier = ir::make_barrier(ir::Scope::BlockShared);
  std::vector<Stmt> body{
      ir::make_store(shared, {me}, ir::load(in, {ir::var_ref(k), me})), barrier,
      ir::make_store(out, {me}, ir::load(out, {me}) + ir::load(shared, {other}))};
  if (ends_with_barrier) body.push_back(barrier);
  const Stmt loop = ir::make_for(k, ir::int_imm(0), ir::int_imm(10), ir::ForKind::Serial,
                                 ir::make_block(body), ir::ThreadAxis::None, pipeline);
  ir::Function function;
  function.name = "sums";
  function.params = {in, out};
  function.written = {false, true};
  function.parallel = ir::make_var("task");
  function.body =
      ir::make_allocate(shared, ir::make_for(t, ir::int_imm(0), ir::int_imm(4), ir::ForKind::Bound,
                                             loop, ir::ThreadAxis::ThreadX));
  return function;
}

int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(LowerGpu, StagesAheadThroughRegisters) {
  const auto made = pipeline(staged({2, false}));
  ASSERT_TRUE(made) << made.error().text();
  const std::string text = ir::print(made->body);
  EXPECT_EQ(count_of(text, "barrier"), 1) << text;
  EXPECT_NE(text.find("[2, 4]"), std::string::npos) << text;
  EXPECT_EQ(count_of(text, "async"), 0) << text;
  EXPECT_FALSE(pipeline(staged({3, false}))) << "registers hold one iteration's values";
}

TEST(LowerGpu, StagesAheadByCopies) {
  const auto made = pipeline(staged({3, true}));
  ASSERT_TRUE(made) << made.error().text();
  const std::string text = ir::print(made->body);
  EXPECT_EQ(count_of(text, "barrier"), 1) << text;
  EXPECT_EQ(count_of(text, "async_copies"), 3) << "two begin, then one each time\n" << text;
  EXPECT_NE(text.find("await_copies but 1"), std::string::npos) << text;
  EXPECT_FALSE(pipeline(staged({2, true}, false))) << "not a loop that stages";
}

TEST(LowerGpu, BarriersCountAsOftenAsTheyAreMet) {
  EXPECT_EQ(loop_nests(staged({})).barriers, 4 * 10 * 2) << "threads, iterations, each";
  EXPECT_EQ(loop_nests(staged({}, false)).barriers, 4 * 10);
}

// Of 16 x 16 sums by tensor cores, the same configuration with its sums in so many parts.
float estimated(std::int64_t length, std::int64_t parts) {
  space::GpuTarget target;
  target.backend = "cuda_ptx", target.sm = 90, target.driver = 1204, target.compute_units = 132;
  const auto workload = space::Workload::parse(nlohmann::json{{"op", "dense"},
                                                              {"batch", 16},
                                                              {"in_features", length},
                                                              {"out_features", 16},
                                                              {"dtype", "float16"}});
  const auto task = space::open_gpu_space(workload->dag(), target);
  const auto& sketches = task->space().sketches();
  space::Configuration c;
  while (sketches.at(c.sketch).name != "gpu_wmma_f16") ++c.sketch;
  const auto& knobs = sketches[c.sketch].knobs;
  c.choice.assign(knobs.size(), 0);
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].name != "parts") continue;
    while (knobs[k].options.at(c.choice[k])[0] != parts) ++c.choice[k];
  }
  const auto features = gpu_features_of(*task, c);
  EXPECT_TRUE(features) << features.error().text();
  return features ? (*features)[gpu_feature_index("log_estimated_cycles")] : 0;
}

TEST(LowerGpu, LongSumsAreEstimatedFasterInPartsAndShortOnesSlower) {
  EXPECT_LT(estimated(8192, 16), estimated(8192, 1)) << "one block waits 512 times";
  EXPECT_GT(estimated(64, 2), estimated(64, 1)) << "a launch more";
}

}  // namespace
}  // namespace fettle::lower
