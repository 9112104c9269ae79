// Streams in a board's programmable logic, which is played, by a real worker in its strict sandbox:
// what hangs or is lost fails by name, and the next one is measured.
#include <gtest/gtest.h>

#include "agent/device/vta/vta_core.h"
#include "agent/device/vta/vta_device.h"
#include "tests/support/played_helper.h"
#include "tests/support/vta_station.h"

namespace fettle::agent {
namespace {

using namespace test;

wire::DeviceInfoT board_device(const std::string& helper) {
  DeviceConfig config;
  config.key = "pynq-vta";
  config.kind = wire::DeviceKind::Vta;
  config.memory_limit_bytes = PlayedBoard::kBytes;
  config.settings = {{kVtaCore, kBoardCore}, {kVtaHelper, helper}};
  return describe_vta(config, SystemRoot());
}

class FpgaWorker : public ::testing::Test {
 protected:
  FpgaWorker()
      : helper(board, {{"pynq-vta", board.wanted("pynq"), PlayedBoard::kBytes, false}}),
        station(board_device(helper.address())) {}
  void SetUp() override {
    helper.start();
    ASSERT_TRUE(station.pump([&] { return station.queues[0]->ready(); }))
        << station.queues[0]->refusal();
  }
  std::string said(std::uint64_t lease) { return VtaStation::said(station.wait_for(lease)); }
  std::string measure() { return said(submit(60'000)); }
  std::uint64_t submit(std::uint32_t timeout_ms) {
    auto request = station.request(vta_candidate_program(kGood));
    request.options->timeout_ms = timeout_ms;
    return station.submit(request);
  }
  PlayedBoard board;
  PlayedHelper helper;
  VtaStation station;
};

TEST_F(FpgaWorker, MeasuresInAStrictSandbox) {
  EXPECT_EQ(measure(), "measured");
  const wire::DeviceInfoT& info = station.queues[0]->info();
  EXPECT_EQ(info.name, "VTA design pynq, in programmable logic");
  EXPECT_EQ(info.clock, wire::ClockDomain::AcceleratorCycles);
  EXPECT_FALSE(info.emulated);
  ASSERT_TRUE(info.fpga->bitstream);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(info.sandbox, wire::Sandbox::Strict);
#endif
  EXPECT_EQ(board.programmings(), 1u);
}

TEST_F(FpgaWorker, RefusesWhatTheBoardIsNotFor) {
  auto program = vta_candidate_program(kGood);
  program.images[0]->configuration = vta::configuration_of(*vta::find_design("vta-stock"));
  EXPECT_EQ(
      VtaStation::said(station.outcome(std::move(program))).rfind("Load WrongConfiguration", 0),
      0u);
  EXPECT_EQ(VtaStation::said(station.outcome(vta_candidate_program(kWriteBehind)))
                .rfind("Load Malformed", 0),
            0u);
  EXPECT_EQ(measure(), "measured");
}

// Its worker is killed at the trial's limit; the core is not left running.
TEST_F(FpgaWorker, AHungCoreIsATimeout) {
  board.pl().hang(true);
  EXPECT_EQ(said(submit(500)).rfind("Run RunTimeout", 0), 0u);
  board.pl().hang(false);
  EXPECT_EQ(measure(), "measured");
  EXPECT_EQ(board.programmings(), 1u) << "it was stopped";
}

TEST_F(FpgaWorker, LogicThatIsLostInMidRunIsProgrammedAgain) {
  board.pl().hang(true);
  const std::uint64_t lease = submit(60'000);
  ASSERT_TRUE(station.pump([&] { return (board.pl().read(0) & 1) != 0; })) << "it never ran";
  board.pl().erase();
  board.pl().hang(false);
  EXPECT_EQ(said(lease),
            "Run DeviceLost: the programmable logic lost its configuration while a stream ran; the "
            "programmable logic was programmed again");
  EXPECT_EQ(measure(), "measured");
  EXPECT_EQ(board.programmings(), 2u);
}

TEST_F(FpgaWorker, WithoutItsHelperTheDeviceIsRefused) {
  EXPECT_EQ(measure(), "measured");
  helper.end();
  EXPECT_EQ(measure().rfind("Run Unreachable", 0), 0u);
  ASSERT_TRUE(station.pump([&] { return !station.queues[0]->refusal().empty(); }));
  EXPECT_NE(station.queues[0]->refusal().find("the FPGA helper at @"), std::string::npos);
}

}  // namespace
}  // namespace fettle::agent
