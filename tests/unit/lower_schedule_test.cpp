// Schedules by hand: steps, what they refuse, and placements no sketch uses.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "host/ir/interpreter.h"
#include "host/ir/mutator.h"
#include "host/ir/printer.h"
#include "host/lower/lower.h"
#include "host/space/reference.h"
#include "host/space/sketches/sketches.h"

namespace fettle::lower {
namespace {

using namespace space;

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

Target target() {
  return {"cpu_llvm", "x86_64", "x86_64-linux-gnu", "x86-64-v3", {}, 256, 16, true, 2};
}

using Change = std::function<void(ir::Module& module)>;

void expect_right(const Workload& workload, const std::vector<Step>& steps,
                  const Change& change = nullptr) {
  Schedule schedule(make_dag(workload));
  for (const Step& step : steps) {
    const auto done = schedule.apply(step);
    ASSERT_TRUE(done) << const_cast<Result<void>&>(done).error().text();
  }
  EXPECT_EQ(schedule.steps().size(), steps.size());
  auto module = lower_schedule(schedule, target());
  ASSERT_TRUE(module) << module.error().text();
  if (change) change(*module);
  const auto expected = evaluate(make_dag(workload));
  ASSERT_TRUE(expected);
  std::vector<std::vector<std::uint8_t>> buffers;
  std::size_t output = 0;
  for (std::size_t i = 0; i < module->buffers.size(); ++i) {
    const auto& b = module->buffers[i];
    if (b.role == ir::Role::Output) output = i;
    const bool given = b.role == ir::Role::Input || b.role == ir::Role::Constant;
    buffers.push_back(given
                          ? *filled(b.buffer, b.fill)
                          : std::vector<std::uint8_t>(std::size_t(b.buffer->elements()) * 4, 0xFF));
  }
  const auto problem = ir::interpret(*module, buffers, 2);
  ASSERT_FALSE(problem) << *problem << "\n" << ir::print(*module);
  if (!expected->front().type.is_float()) {
    ASSERT_EQ(buffers[output], expected->front().bytes) << ir::print(*module);
    return;
  }
  for (std::size_t i = 0; i < expected->front().bytes.size(); i += 4) {
    float actual, wanted;
    std::memcpy(&actual, &buffers[output][i], 4);
    std::memcpy(&wanted, &expected->front().bytes[i], 4);
    ASSERT_NEAR(actual, wanted, 1e-5) << "element " << i / 4 << "\n" << ir::print(*module);
  }
}

TEST(LowerSchedule, NoStepsAtAll) { expect_right(conv(), {}); }

TEST(LowerSchedule, PaddingInlinedIntoTheReduction) {
  expect_right(conv(), {InlineStep{"pad"}, InlineStep{"biased"}});
}

TEST(LowerSchedule, PaddingOnTheStackOfATask) {
  expect_right(conv(), {InlineStep{"biased"}, SplitStep{"activated", "y", 3, "yo", "yi"},
                        AnnotateStep{"activated", "n", ir::ForKind::Parallel},
                        ComputeAtStep{"conv", "activated", "yi", ir::Scope::Stack},
                        ComputeAtStep{"pad", "activated", "yo", ir::Scope::Stack}});
}

TEST(LowerSchedule, PaddingInALoopOfTheReductionItself) {
  expect_right(conv(),
               {InlineStep{"biased"}, ReorderStep{"conv", {"n", "y", "x", "oc", "kh", "kw", "ic"}},
                ComputeAtStep{"pad", "conv", "y", ir::Scope::Stack}});
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
                        ComputeAtStep{"conv", "activated", "ym", ir::Scope::Stack}});
}

TEST(LowerSchedule, MisfitsAreRefused) {
  const auto refused = [&](std::vector<Step> steps) {
    Schedule schedule(make_dag(conv()));
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
  EXPECT_TRUE(refused({ComputeAtStep{"biased", "conv", "n", ir::Scope::Stack}}));
  EXPECT_TRUE(refused({PackConstantStep{"input", "c", 2}}));
  EXPECT_TRUE(refused({PackConstantStep{"weight", "oc", 11}}));
  EXPECT_TRUE(refused({SkipZerosStep{"conv", "pad", "y"}}));
  EXPECT_TRUE(refused({SkipZerosStep{"conv", "weight", "kh"}}));
  EXPECT_TRUE(refused({DotProductStep{"conv", false}}));                      // of floats
  EXPECT_TRUE(refused({DotProductStep{"biased", false}}));                    // no sum
  EXPECT_TRUE(refused({RfactorStep{"conv", "oc", 2, "part", true, false}}));  // not reduced
  EXPECT_TRUE(refused({RfactorStep{"conv", "ic", 0, "part", true, false}}));
  EXPECT_TRUE(refused({TransposeConstantStep{"input", "c"}}));
  EXPECT_TRUE(refused({WinogradStep{"conv", 3, 2, 8}}));
  EXPECT_TRUE(refused({WinogradStep{"conv", 4, 4, 11}}));
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

// Six channels are two fours, the second half empty; four are read as they lie.
TEST(LowerSchedule, DotProductsByFours) {
  for (const int channels : {4, 6}) {
    for (const int pad : {0, 1}) {
      const Workload workload = *Workload::parse(nlohmann::json{{"op", "conv2d"},
                                                                {"height", 5},
                                                                {"width", 6},
                                                                {"in_channels", channels},
                                                                {"out_channels", 10},
                                                                {"kernel", 3},
                                                                {"pad", pad},
                                                                {"dtype", "int8"},
                                                                {"tail", {"bias"}}});
      for (const bool add_128 : {false, true}) {
        SCOPED_TRACE(std::to_string(channels) + (add_128 ? " unsigned" : " signed"));
        expect_right(workload, {DotProductStep{"conv", add_128}}, [&](const ir::Module& module) {
          bool copied = false, corrected = false;
          for (const ir::ProgramBuffer& b : module.buffers) {
            copied |= b.buffer->name == "pad";
            corrected |= b.buffer->name == "weight.offset";
          }
          EXPECT_EQ(copied, pad == 1 || add_128 || channels == 6);
          EXPECT_EQ(corrected, add_128);
        });
      }
    }
  }
}

// A layout of channels first, alone or followed by elementwise stages, one of which reads
// another image; padded and not; and int8 by dot products after the step.
TEST(LowerSchedule, ChannelsLast) {
  nlohmann::json fields = {{"op", "conv2d"},    {"layout", "NCHW"}, {"batch", 2},
                           {"height", 5},       {"width", 6},       {"in_channels", 6},
                           {"out_channels", 7}, {"kernel", {3, 2}}, {"stride", {1, 2}}};
  for (const int pad : {0, 1}) {
    fields["pad"] = pad;
    for (const nlohmann::json& tail : {nlohmann::json::array(), nlohmann::json{"bias", "add"}}) {
      SCOPED_TRACE("pad " + std::to_string(pad) + tail.dump());
      fields["tail"] = tail;
      fields["dtype"] = "float32";
      const Workload real = *Workload::parse(fields);
      expect_right(real, {ChannelsLastStep{"conv"}}, [&](const ir::Module& module) {
        for (const ir::ProgramBuffer& b : module.buffers) {
          const auto& shape = b.buffer->shape;
          if (b.buffer->name == "pad") {
            EXPECT_EQ(shape, (std::vector<std::int64_t>{2, 5 + 2 * pad, 6 + 2 * pad, 6}));
          } else if (b.buffer->name == "weight.channels_last") {
            EXPECT_EQ(shape, (std::vector<std::int64_t>{3, 2, 6, 7}));
          } else if (b.role == ir::Role::Output) {
            EXPECT_EQ(shape[1], 7);
          }
        }
      });
      if (tail.empty()) continue;
      const PackConstantStep pack{"weight.channels_last", "oc", 4};
      expect_right(real, {ChannelsLastStep{"conv"}, pack, InlineStep{"weight.channels_last"}});
      fields["dtype"] = "int8", fields["tail"] = {"bias"};
      expect_right(*Workload::parse(fields),
                   {ChannelsLastStep{"conv"}, DotProductStep{"conv", true}});
    }
  }
  EXPECT_EQ(to_string(Step{ChannelsLastStep{"conv"}}), "channels last in conv");
}

// Whose channels are last already, or belong to groups, or are not summed.
TEST(LowerSchedule, ChannelsLastRefusesOtherSums) {
  const auto refused = [](const char* stage, const char* fields) {
    Schedule schedule(make_dag(*Workload::parse(std::string("{\"op\":") + fields + "}")));
    const auto done = schedule.apply(ChannelsLastStep{stage});
    const bool unchanged = schedule.steps().empty() && !schedule.dag().find("weight.channels_last");
    return !done && done.error().code == ErrorCode::InvalidArgument && unchanged;
  };
  const char* const nchw =
      R"("conv2d","layout":"NCHW","height":5,"width":5,"in_channels":4,"out_channels":4,"kernel":3)";
  EXPECT_FALSE(refused("conv", nchw));
  EXPECT_TRUE(refused("biased", nchw));
  EXPECT_TRUE(refused("input", nchw));
  EXPECT_TRUE(refused("conv", (std::string(nchw) + R"(,"groups":2)").c_str()));
  EXPECT_TRUE(refused(
      "conv",
      R"("conv2d","height":5,"width":5,"in_channels":4,"out_channels":4,"kernel":3,"pad":1)"));
  EXPECT_TRUE(refused("dense", R"("dense","in_features":5,"out_features":5)"));
  for (const char* stage : {"conv", "depthwise"}) {
    EXPECT_TRUE(refused(
        stage,
        R"("depthwise_conv2d","layout":"NCHW","height":5,"width":5,"channels":4,"kernel":3)"));
  }
}

TEST(LowerSchedule, AnUnevenReductionSplitDoesNotLower) {
  Schedule schedule(make_dag(conv()));
  ASSERT_TRUE(schedule.apply(SplitStep{"conv", "ic", 3, "io", "ii"}));
  const auto module = lower_schedule(schedule, target());
  ASSERT_FALSE(module);
  EXPECT_NE(module.error().message.find("reduction loop ic of 4 split by 3"), std::string::npos)
      << module.error().text();
  Schedule large(make_dag(conv()));
  ASSERT_TRUE(large.apply(SplitStep{"conv", "y", 8, "yo", "yi"}));
  EXPECT_FALSE(lower_schedule(large, target()));
}

// No tensor of this layer is that large, but Winograd's transformed pixels are.
TEST(LowerSchedule, ABufferBeyondInt32IndicesIsABuildError) {
  const auto workload = Workload::parse(std::string(
      R"({"op":"conv2d","batch":256,"height":224,"width":224,"in_channels":64,"out_channels":64,"kernel":3,"pad":1})"));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto task = open_cpu_space(make_dag(*workload), target());
  ASSERT_TRUE(task) << task.error().text();
  const SearchSpace* space = &task->space();
  std::mt19937_64 rng(1);
  Configuration configuration = space->random(rng);
  while (space->sketches()[configuration.sketch].name != "cpu_winograd_2") {
    configuration = space->random(rng);
  }
  const auto module = lower_configuration(*task, configuration);
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code, ErrorCode::BuildError);
  EXPECT_NE(module.error().message.find("pixels.winograd"), std::string::npos)
      << module.error().text();
}

TEST(LowerSchedule, StepsArePlainWords) {
  EXPECT_EQ(to_string(Step{SplitStep{"conv", "ic", 4, "io", "ii"}}),
            "split conv.ic by 4 into io, ii");
  EXPECT_EQ(to_string(Step{ComputeAtStep{"pad", "conv", "y", ir::Scope::Register}}),
            "compute pad at conv.y in register");
}

}  // namespace
}  // namespace fettle::lower
