// Schedules for blocks of threads: shared memory and barriers, and instructions with a shape.
#include <cmath>

#include <gtest/gtest.h>

#include "host/ir/mutator.h"
#include "host/space/operators/stages.h"
#include "tests/unit/schedule_checks.h"

namespace fettle::lower {
namespace {

using ir::ThreadAxis;
using space::BindStep;
using space::CacheReadStep;

// c[i][j] = sum of a[i][k] * b[k][j].
ComputeDag matmul() {
  ComputeDag dag;
  const Stage a = make_placeholder("a", {{"i", 24}, {"k", 12}}, ir::Role::Input, 1, 1),
              b = make_placeholder("b", {{"k", 12}, {"j", 20}}, ir::Role::Input, 5, 1);
  const Axis i = make_axis("i", 24), j = make_axis("j", 20), k = make_axis("k", 12);
  const ir::Expr vi = ir::var_ref(i.var), vj = ir::var_ref(j.var), vk = ir::var_ref(k.var);
  Stage c = make_stage("c", {i, j}, {k}, at(a, {vi, vk}) * at(b, {vk, vj}));
  c.role = ir::Role::Output;
  dag.stages = {a, b, c};
  return dag;
}

// Blocks of 4 x 4 threads, each with a tile of 2 x 1 (the last column of blocks overlaps the
// one before it) in registers.
std::vector<Step> in_blocks() {
  return {CacheWriteStep{"c"},
          SplitStep{"c", "i", 8, "i.block", "i.rest"},
          SplitStep{"c", "i.rest", 2, "i.thread", "i.reg"},
          SplitStep{"c", "j", 4, "j.block", "j.thread"},
          ReorderStep{"c", {"i.block", "j.block", "i.thread", "j.thread", "i.reg"}},
          BindStep{"c", "i.block", ThreadAxis::BlockY},
          BindStep{"c", "j.block", ThreadAxis::BlockX},
          BindStep{"c", "i.thread", ThreadAxis::ThreadY},
          BindStep{"c", "j.thread", ThreadAxis::ThreadX},
          ComputeAtStep{"c.local", "c", "j.thread", ir::Scope::Register},
          SplitStep{"c.local", "k", 4, "k.outer", "k.inner"},
          ReorderStep{"c.local", {"k.outer", "k.inner", "i", "j"}}};
}

// Both operands by way of memory that a block shares, loaded at `loop`.
std::vector<Step> with_shared_copies(const char* stage, const char* loop) {
  std::vector<Step> steps = in_blocks();
  for (const char* operand : {"a", "b"}) {
    steps.push_back(CacheReadStep{operand, "c.local", "shared"});
    steps.push_back(
        ComputeAtStep{std::string(operand) + ".shared", stage, loop, ir::Scope::BlockShared});
  }
  return steps;
}

std::vector<Step> operator+(std::vector<Step> a, const std::vector<Step>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// a's part is 8 x 4 elements: two rounds of the block's 16 threads. b's is 4 x 4.
const std::vector<Step> kCooperative = {FuseStep{"a.shared", {"i", "k"}, "all"},
                                        SplitStep{"a.shared", "all", 16, "round", "thread"},
                                        SplitStep{"a.shared", "thread", 4, "ty", "tx"},
                                        BindStep{"a.shared", "ty", ThreadAxis::ThreadY},
                                        BindStep{"a.shared", "tx", ThreadAxis::ThreadX},
                                        BindStep{"b.shared", "k", ThreadAxis::ThreadY},
                                        BindStep{"b.shared", "j", ThreadAxis::ThreadX}};

int barriers_of(const ir::Module& module) {
  int count = 0;
  for (const ir::Function& function : module.functions) {
    ir::walk(
        function.body,
        [&](const ir::Stmt& s) { count += std::holds_alternative<ir::Barrier>(s->node); }, nullptr);
  }
  return count;
}

TEST(LowerThreads, AMatmulInBlocks) { expect_right(matmul(), in_blocks()); }

TEST(LowerThreads, OperandsInSharedMemoryLoadedTogether) {
  expect_right(matmul(), with_shared_copies("c.local", "k.outer") + kCooperative,
               [](const ir::Module& module) {
                 // One after both are loaded, one before they are loaded again.
                 EXPECT_EQ(barriers_of(module), 2) << ir::print(module);
                 int shared = 0;
                 for (const ir::Function& function : module.functions) {
                   ir::walk(
                       function.body,
                       [&](const ir::Stmt& s) {
                         const auto* n = std::get_if<ir::Allocate>(&s->node);
                         if (!n || n->buffer->scope != ir::Scope::BlockShared) return;
                         shared += static_cast<int>(n->buffer->elements());
                       },
                       nullptr);
                 }
                 EXPECT_EQ(shared, 8 * 4 + 4 * 4) << "what all threads of a block read";
               });
}

// By the block's first thread, and by some of its threads.
TEST(LowerThreads, SharedMemoryLoadedByFewThreads) {
  expect_right(matmul(), with_shared_copies("c.local", "k.outer"));
  expect_right(matmul(), with_shared_copies("c.local", "k.outer") +
                             std::vector<Step>{SplitStep{"a.shared", "k", 2, "ko", "tx"},
                                               BindStep{"a.shared", "tx", ThreadAxis::ThreadX}});
}

TEST(LowerThreads, SharedMemoryLoadedOnceForABlock) {
  const std::vector<Step> copies = {SplitStep{"a.shared", "i", 2, "ty", "row"},
                                    BindStep{"a.shared", "ty", ThreadAxis::ThreadY},
                                    BindStep{"b.shared", "j", ThreadAxis::ThreadX}};
  expect_right(matmul(), with_shared_copies("c", "j.block") + copies,
               [](const ir::Module& module) { EXPECT_EQ(barriers_of(module), 1); });
}

bool is_right(const ir::Module& module, const ComputeDag& dag) {
  std::vector<std::vector<std::uint8_t>> buffers;
  for (const ir::ProgramBuffer& b : module.buffers) buffers.push_back(*filled(b.buffer, b.fill));
  if (ir::interpret(module, buffers)) return false;
  const std::vector<std::uint8_t> expected = evaluate(dag)->front().bytes;
  for (std::size_t i = 0; i < expected.size(); i += 4) {
    float actual, wanted;
    std::memcpy(&actual, &buffers.back()[i], 4);
    std::memcpy(&wanted, &expected[i], 4);
    if (!(std::fabs(actual - wanted) < 1e-5)) return false;
  }
  return true;
}

// Without barriers a thread reads what another has not written yet, or has overwritten.
TEST(LowerThreads, TheInterpreterMissesBarriers) {
  class Drop : public ir::Mutator {
   public:
    explicit Drop(int which) : which_(which) {}
    using ir::Mutator::mutate;
    ir::Stmt mutate(const ir::Stmt& s) override {
      const bool drop = s && std::holds_alternative<ir::Barrier>(s->node) && which_-- == 0;
      return drop ? ir::make_block({}) : ir::Mutator::mutate(s);
    }

   private:
    int which_;
  };
  for (const int which : {0, 1, 2}) {  // 2: there is no third one
    Schedule schedule(matmul());
    for (const Step& step : with_shared_copies("c.local", "k.outer") + kCooperative) {
      ASSERT_TRUE(schedule.apply(step));
    }
    auto module = lower_schedule(schedule, target());
    ASSERT_TRUE(module) << module.error().text();
    for (ir::Function& function : module->functions) {
      function.body = Drop(which).mutate(function.body);
    }
    EXPECT_EQ(is_right(*module, matmul()), which == 2) << which;
  }
}

TEST(LowerThreads, WrongScopesAreRefused) {
  const auto refused = [](const std::vector<Step>& steps, const std::string& why) {
    Schedule schedule(matmul());
    for (const Step& step : steps) {
      auto done = schedule.apply(step);
      ASSERT_TRUE(done) << done.error().text();
    }
    const auto module = lower_schedule(schedule, target());
    ASSERT_FALSE(module) << why << "\n" << ir::print(*module);
    EXPECT_EQ(module.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(module.error().text().find(why), std::string::npos) << module.error().text();
  };
  const auto computed_at = [](const char* loop, ir::Scope scope) {
    std::vector<Step> steps = in_blocks();
    steps.resize(9);
    steps.push_back(ComputeAtStep{"c.local", "c", loop, scope});
    return steps;
  };
  refused(computed_at("j.block", ir::Scope::Register), "kept by one thread and read by others");
  refused(computed_at("j.block", ir::Scope::Thread), "kept by one thread and read by others");
  refused(computed_at("i.block", ir::Scope::BlockShared), "kept in one block and read by others");
  refused(computed_at("j.thread", ir::Scope::Global), "scratch area");
  refused(in_blocks() + std::vector<Step>{BindStep{"c.local", "i", ThreadAxis::ThreadZ}},
          "one thread computes");
  refused({CacheWriteStep{"c"}, ComputeAtStep{"c.local", "c", "i", ir::Scope::BlockShared}},
          "no blocks");
  // Eight threads load, four of which go on to the barrier inside.
  refused(with_shared_copies("c.local", "k.outer") +
              std::vector<Step>{BindStep{"a.shared", "i", ThreadAxis::ThreadX}},
          "barrier");
  Schedule schedule(matmul());
  EXPECT_FALSE(schedule.apply(BindStep{"c", "k", ThreadAxis::ThreadX}));
  EXPECT_FALSE(schedule.apply(BindStep{"c", "i", ThreadAxis::None}));
  EXPECT_FALSE(schedule.apply(AnnotateStep{"c", "i", ir::ForKind::Bound}));
  EXPECT_TRUE(schedule.apply(BindStep{"c", "i", ThreadAxis::ThreadX}));
  EXPECT_FALSE(schedule.apply(BindStep{"c", "j", ThreadAxis::ThreadX}));
  EXPECT_FALSE(schedule.apply(CacheReadStep{"c", "a", "copy"}));
  EXPECT_TRUE(schedule.apply(CacheReadStep{"a", "c", "copy"}));
  EXPECT_FALSE(schedule.apply(CacheReadStep{"a", "c", "copy"}));
}

// c[i][j] = sum of a[i][k] * b[j][k], of int8.
ComputeDag int8_products(std::int64_t length) {
  ComputeDag dag;
  const Stage a = make_int_placeholder("a", {{"i", 5}, {"k", length}}, ir::Role::Input, 1,
                                       ir::Scalar::Int8, 127),
              b = make_int_placeholder("b", {{"j", 7}, {"k", length}}, ir::Role::Input, 5,
                                       ir::Scalar::Int8, 127);
  const Axis i = make_axis("i", 5), j = make_axis("j", 7), k = make_axis("k", length);
  const ir::Expr vi = ir::var_ref(i.var), vj = ir::var_ref(j.var), vk = ir::var_ref(k.var);
  Stage c = make_stage("c", {i, j}, {k}, product(at(a, {vi, vk}), at(b, {vj, vk})));
  c.role = ir::Role::Output;
  dag.stages = {a, b, c};
  return dag;
}

TEST(LowerThreads, ALoopBecomesAnInstruction) {
  using space::TensorizeStep;
  const auto calls = [](const ir::Module& module) {
    EXPECT_NE(ir::print(module).find("dot4_s8s8("), std::string::npos) << ir::print(module);
  };
  const TensorizeStep step{"c", "dot4_s8s8"};
  expect_right(int8_products(4), {step}, calls);
  expect_right(int8_products(12), {SplitStep{"c", "k", 4, "k.outer", "k.inner"}, step}, calls);
  expect_right(int8_products(24),
               {SplitStep{"c", "k", 12, "k.outer", "k.rest"},
                SplitStep{"c", "k.rest", 4, "k.mid", "k.inner"},
                ReorderStep{"c", {"k.outer", "i", "k.mid", "j", "k.inner"}}, step,
                AnnotateStep{"c", "j", ir::ForKind::Unrolled}},
               calls);

  const auto refused = [](ComputeDag dag, const std::vector<Step>& steps) {
    Schedule schedule(std::move(dag));
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto done = schedule.apply(steps[i]);
      if (!done) return i + 1 == steps.size() && done.error().code == ErrorCode::InvalidArgument;
    }
    return false;
  };
  EXPECT_TRUE(refused(int8_products(12), {step}));                           // twelve at once
  EXPECT_TRUE(refused(matmul(), {SplitStep{"c", "k", 4, "o", "n"}, step}));  // of floats
  EXPECT_TRUE(refused(int8_products(4), {ReorderStep{"c", {"k", "i", "j"}}, step}));
  EXPECT_TRUE(refused(int8_products(4), {TensorizeStep{"c", "dot4_u8s8"}}));
  EXPECT_TRUE(refused(int8_products(4), {TensorizeStep{"c", "nothing"}}));
}

}  // namespace
}  // namespace fettle::lower
