// Schedules by hand: steps, what they refuse, and placements no sketch uses.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>
#include <set>

#include "host/ir/mutator.h"
#include "host/space/algorithms/winograd_convolution.h"
#include "host/space/sketches/sketches.h"
#include "host/space/workload.h"
#include "tests/unit/schedule_checks.h"

namespace fettle::lower {
namespace {

constexpr const char* kLarge =
    R"({"op":"conv2d","batch":256,"height":224,"width":224,"in_channels":64,"out_channels":64,"kernel":3,"pad":1})";

Workload conv() {
  return *Workload::parse(nlohmann::json{{"op", "conv2d"},
                                         {"height", 7},
                                         {"width", 6},
                                         {"in_channels", 4},
                                         {"out_channels", 10},
                                         {"kernel", 3},
                                         {"pad", 1},
                                         {"tail", {"bias", "relu"}}});
}

TEST(LowerSchedule, NoStepsAtAll) { expect_right(conv(), {}); }

TEST(LowerSchedule, PaddingInlinedIntoTheReduction) {
  expect_right(conv(), {InlineStep{"pad"}, InlineStep{"biased"}});
}

TEST(LowerSchedule, PaddingOnTheStackOfATask) {
  expect_right(conv(), {InlineStep{"biased"}, SplitStep{"activated", "y", 3, "yo", "yi"},
                        AnnotateStep{"activated", "n", ir::ForKind::Parallel},
                        ComputeAtStep{"conv", "activated", "yi", ir::Scope::Thread},
                        ComputeAtStep{"pad", "activated", "yo", ir::Scope::Thread}});
}

TEST(LowerSchedule, PaddingInALoopOfTheReductionItself) {
  expect_right(conv(),
               {InlineStep{"biased"}, ReorderStep{"conv", {"n", "y", "x", "oc", "kh", "kw", "ic"}},
                ComputeAtStep{"pad", "conv", "y", ir::Scope::Thread}});
}

// Padding of NaNs instead of zeros: whoever reads it shows.
void poison_padding(ir::Module& module) {
  class Poison : public ir::Mutator {
   public:
    using ir::Mutator::mutate;
    ir::Expr mutate(const ir::Expr& e) override {
      const auto* imm = e ? std::get_if<ir::FloatImm>(&e->node) : nullptr;
      if (!imm || imm->value != 0) return ir::Mutator::mutate(e);
      ++found;
      return ir::float_imm(std::nan(""), e->type);
    }
    int found = 0;
  } poison;
  for (ir::Function& function : module.functions) {
    if (function.name == "pad") function.body = poison.mutate(function.body);
  }
  EXPECT_GT(poison.found, 0);
}

TEST(LowerSchedule, SkippedPaddingIsNotRead) {
  const ReorderStep order{"conv", {"n", "y", "x", "oc", "kh", "kw", "ic"}};
  expect_right(conv(),
               {order, SkipZerosStep{"conv", "pad", "kh"}, SkipZerosStep{"conv", "pad", "kw"}},
               poison_padding);
  // Of a tile of rows, those taps that any of them needs are computed.
  expect_right(conv(), {SplitStep{"conv", "y", 3, "yo", "yi"},
                        ReorderStep{"conv", {"n", "yo", "x", "kh", "kw", "ic", "yi", "oc"}},
                        SkipZerosStep{"conv", "pad", "kh"}, SkipZerosStep{"conv", "pad", "kw"}});
}

TEST(LowerSchedule, UnevenSplitsOverlap) {
  expect_right(conv(), {InlineStep{"biased"}, SplitStep{"activated", "y", 4, "yo", "yi"},
                        SplitStep{"activated", "yi", 3, "ym", "yr"},
                        SplitStep{"activated", "oc", 8, "co", "ci"},
                        AnnotateStep{"activated", "ci", ir::ForKind::Vectorized},
                        ReorderStep{"activated", {"n", "yo", "co", "ym", "x", "yr", "ci"}},
                        ComputeAtStep{"conv", "activated", "ym", ir::Scope::Thread}});
}

TEST(LowerSchedule, MisfitsAreRefused) {
  const auto refused = [&](std::vector<Step> steps) {
    Schedule schedule(conv().dag());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      auto done = schedule.apply(steps[i]);
      if (!done) return i + 1 == steps.size() && done.error().code == ErrorCode::InvalidArgument;
    }
    return false;
  };
  EXPECT_TRUE(refused({InlineStep{"conv"}}));
  EXPECT_TRUE(refused({InlineStep{"activated"}}));
  EXPECT_TRUE(refused({InlineStep{"nothing"}}));
  EXPECT_TRUE(refused({SplitStep{"conv", "z", 2, "a", "b"}}));
  EXPECT_TRUE(refused({SplitStep{"conv", "y", 0, "a", "b"}}));
  EXPECT_TRUE(refused({SplitStep{"conv", "y", 2, "x", "b"}}));
  EXPECT_TRUE(refused({FuseStep{"conv", {"n", "x"}, "f"}}));
  EXPECT_TRUE(refused({ReorderStep{"conv", {"n", "n"}}}));
  EXPECT_TRUE(refused({AnnotateStep{"conv", "y", ir::ForKind::Parallel}}));
  EXPECT_TRUE(refused({AnnotateStep{"conv", "ic", ir::ForKind::Vectorized}}));
  EXPECT_TRUE(refused({ComputeAtStep{"biased", "conv", "n", ir::Scope::Thread}}));
  EXPECT_TRUE(refused({PackConstantStep{"input", "c", 2}}));
  EXPECT_TRUE(refused({PackConstantStep{"weight", "oc", 11}}));
  EXPECT_TRUE(refused({SkipZerosStep{"conv", "pad", "y"}}));
  EXPECT_TRUE(refused({SkipZerosStep{"conv", "weight", "kh"}}));
  EXPECT_TRUE(refused({RfactorStep{"conv", "oc", 2, "part", true, false}}));  // not reduced
  EXPECT_TRUE(refused({RfactorStep{"conv", "ic", 0, "part", true, false}}));
  EXPECT_TRUE(refused({TransposeConstantStep{"input", "c"}}));
  EXPECT_TRUE(refused({TileAxisStep{"conv", "ic", 2}}));
  EXPECT_TRUE(refused({TileAxisStep{"conv", "oc", 11}}));
  EXPECT_TRUE(refused({TileAxisStep{"input", "c", 2}}));
  EXPECT_TRUE(refused({TileAxisStep{"pad", "y", 2}}));  // read at y + kh
}

// Seven rows by threes, ten channels by fours and by more than there are, four summed channels by
// threes: past the end nothing happens, or it does in longer storage.
TEST(LowerSchedule, GuardedTails) {
  expect_right(conv(), {SplitStep{"conv", "y", 3, "yo", "yi", Tail::Guard},
                        SplitStep{"conv", "ic", 3, "io", "ii", Tail::Guard},
                        ReorderStep{"conv", {"n", "io", "yo", "yi", "ii"}}});
  expect_right(conv(), {SplitStep{"conv", "oc", 16, "co", "ci", Tail::Guard},
                        SplitStep{"conv", "ci", 4, "cm", "cj"},
                        ReorderStep{"conv", {"n", "y", "x", "co", "cm", "kh", "kw", "ic", "cj"}},
                        AnnotateStep{"conv", "cj", ir::ForKind::Vectorized}});
  // What is computed in a guarded loop is read in part only, and computed no further.
  expect_right(conv(),
               {InlineStep{"biased"}, SplitStep{"activated", "y", 4, "yo", "yi", Tail::Guard},
                SplitStep{"activated", "oc", 4, "co", "ci", Tail::Guard},
                AnnotateStep{"activated", "ci", ir::ForKind::Vectorized},
                ReorderStep{"activated", {"n", "yo", "co", "yi", "x", "ci"}},
                ComputeAtStep{"conv", "activated", "co", ir::Scope::Global},
                ComputeAtStep{"pad", "conv", "y", ir::Scope::Global}});
}

TEST(LowerSchedule, PaddedTails) {
  const auto longer = [](const char* name, std::vector<std::int64_t> shape) {
    return [=](const ir::Module& module) {
      for (const ir::ProgramBuffer& b : module.buffers) {
        if (b.buffer->name == name) {
          EXPECT_EQ(b.buffer->shape, shape);
        }
      }
    };
  };
  expect_right(conv(),
               {SplitStep{"conv", "oc", 8, "co", "ci", Tail::Pad},
                ReorderStep{"conv", {"n", "y", "x", "co", "kh", "kw", "ic", "ci"}},
                AnnotateStep{"conv", "ci", ir::ForKind::Vectorized}},
               longer("conv", {1, 7, 6, 16}));
  expect_right(conv(), {SplitStep{"conv", "ic", 3, "io", "ii", Tail::Pad}},
               longer("conv", {1, 7, 6, 10}));
  const Workload largest = workload_of(
      {{"op", "max_pool2d"}, {"height", 8}, {"width", 8}, {"channels", 3}, {"kernel", {1, 3}}});
  expect_right(largest, {SplitStep{"pool", "kw", 2, "ko", "ki", Tail::Pad}});
  const auto refused = [](const Workload& workload, const SplitStep& step) {
    Schedule schedule(workload.dag());
    return !schedule.apply(step);
  };
  EXPECT_TRUE(refused(conv(), {"activated", "y", 3, "yo", "yi", Tail::Pad}));  // the output
  const Workload softmax = workload_of({{"op", "softmax"}, {"batch", 3}, {"features", 5}});
  EXPECT_TRUE(refused(softmax, {"inverse", "n", 2, "o", "i", Tail::Pad}));  // 1 / 0
}

// Inside a reduction, elements of two tiles would be added to twice.
TEST(LowerSchedule, TilesInsideAReductionDoNotOverlap) {
  Schedule schedule(conv().dag());
  ASSERT_TRUE(schedule.apply(SplitStep{"conv", "y", 3, "yo", "yi"}));
  ASSERT_TRUE(schedule.apply(ReorderStep{"conv", {"n", "kh", "yo", "yi"}}));
  const auto module = lower_schedule(schedule, target());
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("would add twice"), std::string::npos);
}

// One thread would set to zero what another one adds to.
TEST(LowerSchedule, TilesOfThreadsDoNotOverlapWhereTheyAddUp) {
  for (const std::int64_t rows : {3, 7}) {  // of 7
    Schedule schedule(conv().dag());
    ASSERT_TRUE(schedule.apply(SplitStep{"conv", "y", rows, "yo", "yi"}));
    ASSERT_TRUE(schedule.apply(FuseStep{"conv", {"n", "yo"}, "task"}));
    ASSERT_TRUE(schedule.apply(AnnotateStep{"conv", "task", ir::ForKind::Parallel}));
    const auto module = lower_schedule(schedule, target());
    ASSERT_EQ(module.ok(), rows == 7);
    if (rows == 7) continue;
    EXPECT_NE(module.error().message.find("overlap between threads"), std::string::npos)
        << module.error().message;
  }
  expect_right(conv(), {SplitStep{"conv", "y", 3, "yo", "yi", Tail::Guard},
                        FuseStep{"conv", {"n", "yo"}, "task"},
                        AnnotateStep{"conv", "task", ir::ForKind::Parallel}});
}

// An axis in tiles in memory too, down to the output, which stays where it was; tiles that
// divide the axis, and such that overlap. Of a constant they come first.
TEST(LowerSchedule, AxesInTiles) {
  for (const int tile : {1, 3, 5, 10}) {
    expect_right(conv(), {TileAxisStep{"conv", "oc", tile}});
    expect_right(conv(), {TileAxisStep{"conv", "x", std::min(tile, 6)}});
    expect_right(
        conv(),
        {TransposeConstantStep{"weight", "ic"}, TileAxisStep{"weight.transposed", "oc", tile}},
        [&](const ir::Module& module) {
          for (const ir::ProgramBuffer& b : module.buffers) {
            if (b.buffer->name != "weight.transposed") continue;
            EXPECT_EQ(b.buffer->shape,
                      (std::vector<std::int64_t>{(9 + tile) / tile, 3, 3, 4, tile}));
          }
        });
  }
}

// Parts that divide the axis and such that do not, of sums, and of a maximum, to which zeros
// past the end would matter; more parts than elements too.
TEST(LowerSchedule, ReductionsInParts) {
  for (const int parts : {2, 3, 4, 6}) {
    for (const bool interleaved : {true, false}) {
      for (const bool last : {true, false}) {
        expect_right(conv(), {RfactorStep{"conv", "ic", parts, "part", interleaved, last}});
      }
    }
  }
  expect_right(conv(), {RfactorStep{"conv", "ic", 2, "lane", true, true},
                        RfactorStep{"conv.lane", "kh", 3, "part", false, false},
                        ReorderStep{"conv.lane.part",
                                    {"n", "y", "x", "kh.part", "oc", "kh", "kw", "ic", "ic.lane"}},
                        AnnotateStep{"conv.lane.part", "ic.lane", ir::ForKind::Vectorized},
                        TransposeConstantStep{"weight", "ic"}});
  const auto largest = Workload::parse(nlohmann::json{
      {"op", "max_pool2d"}, {"height", 8}, {"width", 8}, {"channels", 3}, {"kernel", {1, 3}}});
  // One maximum in eight is below zero.
  expect_right(*largest, {RfactorStep{"pool", "kw", 2, "part", true, false}});
}

TEST(LowerSchedule, AnUnevenReductionSplitDoesNotLower) {
  Schedule schedule(conv().dag());
  ASSERT_TRUE(schedule.apply(SplitStep{"conv", "ic", 3, "io", "ii"}));
  const auto module = lower_schedule(schedule, target());
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("reduction loop ic of 4 split by 3"), std::string::npos)
      << module.error().text();
  Schedule large(conv().dag());
  ASSERT_TRUE(large.apply(SplitStep{"conv", "y", 8, "yo", "yi"}));
  EXPECT_FALSE(lower_schedule(large, target()));
}

// No tensor of this layer is that large, but Winograd's transformed pixels are.
TEST(LowerSchedule, ABufferBeyondInt32IndicesDoesNotLower) {
  const auto workload = Workload::parse(std::string(kLarge));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto made = with_winograd(workload->dag(), 2, 2);
  ASSERT_TRUE(made) << made.error().text();
  const auto module = lower_schedule(Schedule(made->dag), target());
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("more than indices of int32 reach"), std::string::npos)
      << module.error().text();
}

// Such configurations are no points of the space: they break a constraint between knobs.
TEST(LowerSchedule, ConfigurationsBeyondTheMemoryAreNoneOfTheSpace) {
  for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{1} << 32}) {
    CpuTarget device = target();
    device.memory_bytes = memory;
    const auto task = open_cpu_space(Workload::parse(std::string(kLarge))->dag(), device);
    ASSERT_TRUE(task) << task.error().text();
    const SearchSpace& space = task->space();
    std::mt19937_64 rng(1);
    std::set<std::int64_t> transforms;
    for (int i = 0; i < 80; ++i) {
      const Configuration c = space.random(rng);
      EXPECT_TRUE(space.contains(c));
      if (space.sketches()[c.sketch].name != "cpu_winograd_2") continue;
      transforms.insert(space.value(c, "transform")[0]);
      if (i % 8 == 0) {
        EXPECT_TRUE(lower_loops(*task, c)) << space.to_json(c);
      }
      nlohmann::json other = nlohmann::json::parse(space.to_json(c));
      other["knobs"]["transform"] = {0};
      const auto refused = space.parse(other.dump());
      ASSERT_FALSE(refused);
      EXPECT_NE(refused.error().message.find("transformed pixels and products fit the memory"),
                std::string::npos)
          << refused.error().text();
    }
    EXPECT_EQ(transforms, std::set<std::int64_t>{1});
  }
}

TEST(LowerSchedule, StepsArePlainWords) {
  EXPECT_EQ(to_string(Step{SplitStep{"conv", "ic", 4, "io", "ii"}}),
            "split conv.ic by 4 into io, ii");
  EXPECT_EQ(to_string(Step{SplitStep{"conv", "ic", 4, "io", "ii", Tail::Guard}}),
            "split conv.ic by 4 into io, ii, tail guarded");
  EXPECT_EQ(to_string(Step{ComputeAtStep{"pad", "conv", "y", ir::Scope::Register}}),
            "compute pad at conv.y in register");
}

}  // namespace
}  // namespace fettle::lower
