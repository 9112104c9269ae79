// Whole layers of ResNet-18 on the Verilated core: right, and as fast as the simulator's estimate
// and the core's own bound say. Takes minutes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "fpga/rtl/device/rtl_core.h"
#include "fpga/sim/simulator.h"
#include "tests/support/vta_conv.h"

namespace fettle::vta {
namespace {

TEST(RtlLayers, ResNet18) {
  const Design design = *find_design("pynq");
  Result<RtlCore> core = RtlCore::create(design);
  ASSERT_TRUE(core) << core.error().text();
  Result<Simulator> simulator = Simulator::create(design);
  ASSERT_TRUE(simulator) << simulator.error().text();
  std::printf("layer      cycles   estimate  est/rtl  compute steps  bytes/8   bound/cycles\n");
  int number = 0;
  for (const testing::VtaConv& conv : testing::resnet_18_vta()) {
    const testing::VtaProgram program = testing::vta_conv_program(design, conv, 1);
    Bytes simulated = program.image, ran = program.image;
    DramImage dram(program.base, simulated);
    const std::uint32_t words = static_cast<std::uint32_t>(program.words.size());
    const auto estimate = simulator->run(dram, program.stream, words);
    ASSERT_TRUE(estimate) << estimate.error().text();
    const auto result = core->run(std::as_writable_bytes(std::span(ran)), program.base,
                                  program.stream, words, Timing{}, 1'000'000'000);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_TRUE(ran == simulated) << "layer " << number;
    const Bytes expected = testing::vta_conv_expected(program, conv);
    const ByteView output = testing::vta_part(program, ran, "output");
    EXPECT_TRUE(std::equal(output.begin(), output.end(), expected.begin(), expected.end()))
        << "layer " << number;
    const double ratio =
        static_cast<double>(estimate->cycles) / static_cast<double>(result->cycles);
    EXPECT_NEAR(ratio, 1.0, 0.1) << "layer " << number;
    const std::uint64_t beats = result->read_beats + result->written_beats;
    const std::uint64_t bound = std::max(estimate->step_cycles, beats);
    EXPECT_LE(bound, result->cycles) << "layer " << number;
    // Small layers are mostly their beginning and end.
    EXPECT_GE(static_cast<double>(bound), 0.6 * static_cast<double>(result->cycles))
        << "layer " << number;
    std::printf("%5d %11llu %10llu   %6.3f %14llu %9llu   %10.3f\n", number++,
                static_cast<unsigned long long>(result->cycles),
                static_cast<unsigned long long>(estimate->cycles), ratio,
                static_cast<unsigned long long>(estimate->step_cycles),
                static_cast<unsigned long long>(beats),
                static_cast<double>(bound) / static_cast<double>(result->cycles));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace fettle::vta
