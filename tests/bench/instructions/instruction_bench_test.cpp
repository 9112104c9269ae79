// Counting instructions: that counts are those of one run, that both sides compute
// the layer, and the summary's arithmetic.
#include "tests/bench/instructions/instruction_bench.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "host/backend/backend.h"
#include "host/space/workload.h"
#include "tests/bench/instructions/instruction_search.h"
#include "tests/support/emulated_run.h"
#include "tests/support/native_run.h"

namespace fettle::bench {
namespace {

TEST(InstructionSummary, RatioIsXnnpacksCountOverOurs) {
  InstructionFigures fewer{"a", 1, 1, "", 100, 400, ""}, more{"b", 1, 2, "", 200, 100, ""};
  InstructionFigures none{"c", 1, 0, "", 0, 0, "no record"};
  const InstructionSummary summary = summarise({fewer, none, more});
  EXPECT_EQ(summary.layers, 2u);
  EXPECT_DOUBLE_EQ(summary.geomean, std::sqrt(4 * 0.5));
  EXPECT_DOUBLE_EQ(summary.least, 0.5);
  EXPECT_EQ(summary.least_layer, "b");
  EXPECT_EQ(summarise({none}).layers, 0u);
}

class Counting : public ::testing::TestWithParam<const char*> {
 protected:
  static Layer layer(bool depthwise) {
    const char* text =
        depthwise
            ? R"({"op":"depthwise_conv2d","layout":"NHWC","batch":1,"height":9,"width":7,
                  "channels":24,"kernel":[3,3],"stride":[2,2],"pad":[1,1],"dilation":[1,1],
                  "dtype":"float32","tail":["bias","relu"]})"
            : R"({"op":"conv2d","layout":"NHWC","batch":1,"height":9,"width":7,"in_channels":12,
                  "out_channels":20,"kernel":[1,1],"stride":[1,1],"pad":[0,0],"dilation":[1,1],
                  "groups":1,"dtype":"float32","tail":["bias","relu"]})";
    const auto workload = space::Workload::parse(text);
    EXPECT_TRUE(workload.ok()) << workload.error().text();
    auto layer = make_layer(*workload);
    EXPECT_TRUE(layer.ok()) << layer.error().text();
    return std::move(*layer);
  }
  static double multiply_adds(const Shape& s) {
    return static_cast<double>(s.out_height * s.out_width * s.out_channels * s.kernel[0] *
                               s.kernel[1] * (s.in_channels / s.groups));
  }
  const std::string arch_ = GetParam();
};

TEST_P(Counting, ProgramsOfOurs) {
  if (const std::string lacking = testing::emulation_missing(arch_); !lacking.empty()) {
    GTEST_SKIP() << lacking;
  }
  const space::CpuTarget target =
      arch_ == "aarch64" ? testing::aarch64_target() : testing::armv7_target();
  for (const bool depthwise : {false, true}) {
    const Layer layer = this->layer(depthwise);
    const auto task = backend::open_task(layer.workload.dag(), target.target());
    ASSERT_TRUE(task.ok()) << task.error().text();
    std::mt19937_64 rng(5);
    const auto built = (*task)->build((*task)->space().random(rng));
    ASSERT_TRUE(built.ok()) << built.error().text();
    const std::size_t launches = built->program->launches.size();
    const auto run = count_program(arch_, *built->program);
    if (!run && run.error().code == ErrorCode::Unsupported) GTEST_SKIP() << run.error().text();
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(wrong_answer(run->output, layer), "");
    // A vector instruction does four of them; a scalar loop takes some ten for one.
    EXPECT_GT(run->instructions, multiply_adds(layer.shape) / 4);
    EXPECT_LT(run->instructions, multiply_adds(layer.shape) * 20);
    EXPECT_EQ(built->program->launches.size(), launches) << "the program is as it was";
    const auto again = count_program(arch_, *built->program);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->instructions, run->instructions);
  }
}

TEST_P(Counting, ASearchFindsFewerInstructionsWithMoreCandidates) {
  if (const std::string lacking = testing::emulation_missing(arch_); !lacking.empty()) {
    GTEST_SKIP() << lacking;
  }
  const Layer layer = this->layer(false);
  const space::CpuTarget target =
      arch_ == "aarch64" ? testing::aarch64_target() : testing::armv7_target();
  const auto one = search_fewest(layer, target, 1, 3);
  if (!one && one.error().text().find("plugins") != std::string::npos) {
    GTEST_SKIP() << one.error().text();
  }
  ASSERT_TRUE(one.ok()) << one.error().text();
  const auto many = search_fewest(layer, target, 24, 3);
  ASSERT_TRUE(many.ok()) << many.error().text();
  EXPECT_LT(many->run.instructions, one->run.instructions);
  EXPECT_EQ(wrong_answer(many->run.output, layer), "");
}

TEST_P(Counting, Xnnpack) {
  if (const std::string lacking = counting_missing(arch_); !lacking.empty()) {
    GTEST_SKIP() << lacking;
  }
  for (const bool depthwise : {false, true}) {
    const Layer layer = this->layer(depthwise);
    const auto run = count_xnnpack(arch_, layer);
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(wrong_answer(run->output, layer), "") << "depthwise: " << depthwise;
    EXPECT_GT(run->instructions, multiply_adds(layer.shape) / 4);
    EXPECT_LT(run->instructions, multiply_adds(layer.shape) * 20);
  }
}

INSTANTIATE_TEST_SUITE_P(Arm, Counting, ::testing::Values("aarch64", "armv7"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fettle::bench
