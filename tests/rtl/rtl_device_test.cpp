// The suite of every kind of device on the Verilated core.
#include "agent/device/registry.h"
#include "agent/device/vta/vta_core.h"
#include "runtime/vta/rtl_accelerator.h"
#include "tests/conformance/vta_kind.h"
#include "tests/support/running_program.h"

namespace fettle::agent {
namespace {

// As fettle-agent-rtl does it, once.
std::string brought() {
  static const bool added = [] {
    add_vta_core({"rtl", "Verilated", true, runtime::make_rtl_accelerator});
    return true;
  }();
  return added ? "" : "not added";
}

INSTANTIATE_TEST_SUITE_P(, Conformance, ::testing::Values(vta_kind("VtaRtl", "rtl", brought)),
                         [](const auto& info) { return std::string(info.param.name); });

// What a run leaves in the core's queues and arbiters must not tell in the next one's cycles.
TEST_P(Conformance, TakesEquallyManyCyclesEachTime) {
  ASSERT_TRUE(device->exact());
  ASSERT_TRUE(prepare(program_of(kGood)).ok());
  const auto first = device->run(1);
  ASSERT_TRUE(first.ok());
  for (int round = 0; round < 4; ++round) {
    if (round % 2) {
      ASSERT_TRUE(prepare(counting(1)).ok());
      ASSERT_TRUE(device->run(3).ok());
      ASSERT_TRUE(prepare(program_of(kGood)).ok());
    }
    EXPECT_EQ(device->run(1)->ticks, first->ticks);
    EXPECT_EQ(device->run(2)->ticks, 2 * first->ticks);
  }
}

// In a worker, whose sandbox forbids what a CPU's does.
TEST(RtlAgent, MeasuresInAStrictSandbox) {
  const auto passed = testing::run_program({FETTLE_AGENT_RTL, "--self-test", "--key", "vta-rtl",
                                            "--device-kind", "vta", "--vta-core", "rtl"});
  EXPECT_EQ(passed.status, 0) << passed.out << passed.err;
  EXPECT_NE(passed.out.find("VTA design pynq, Verilated"), std::string::npos)
      << passed.out << passed.err;
  EXPECT_NE(passed.out.find("cycles"), std::string::npos) << passed.out << passed.err;
}

}  // namespace
}  // namespace fettle::agent
