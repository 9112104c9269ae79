// LLVM's analyser on loops whose throughput is known from the CPU's manual: on Haswell
// two fused multiply-adds start in a cycle and each takes five.
#include <gtest/gtest.h>

#include "host/backend/cpu_llvm/throughput.h"
#include "tests/support/native_run.h"

namespace fettle::testing {
namespace {

namespace cpu = backend::cpu_llvm;

space::CpuTarget haswell() {
  return {"x86_64", "x86_64-linux-gnu", "haswell", {}, 256, 16, true, 1};
}

// vfmadd231ps %ymm2, %ymm1, %ymmN for each N, then dec %rax; jne to the first.
std::vector<std::uint8_t> loop_of(std::initializer_list<int> sums) {
  std::vector<std::uint8_t> code;
  for (const int n : sums) {
    const auto extension = static_cast<std::uint8_t>(n < 8 ? 0xE2 : 0x62);
    const auto operands = static_cast<std::uint8_t>(0xC2 | (n % 8) << 3);
    code.insert(code.end(), {0xC4, extension, 0x75, 0xB8, operands});
  }
  code.insert(code.end(), {0x48, 0xFF, 0xC8});
  code.insert(code.end(), {0x75, static_cast<std::uint8_t>(-int(code.size()) - 2)});
  return code;
}

TEST(Throughput, IndependentSumsTakeTwoACycle) {
  const auto found = cpu::static_throughput(loop_of({0, 3, 4, 5, 6, 7, 8, 9, 10, 11}), haswell());
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_NEAR(found->cycles, 5, 0.5);
  EXPECT_EQ(found->model, "haswell");
  EXPECT_TRUE(found->busiest == "HWPort0" || found->busiest == "HWPort1") << found->busiest;
  EXPECT_NEAR(found->busiest_cycles, 5, 0.5);
}

TEST(Throughput, AChainTakesItsLatency) {
  const auto found = cpu::static_throughput(loop_of({0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), haswell());
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_NEAR(found->cycles, 50, 1);
}

TEST(Throughput, WhatIsNoInstructionIsRefused) {
  const std::vector<std::uint8_t> bytes{0x06, 0x06};  // not in 64-bit mode
  const auto found = cpu::static_throughput(bytes, haswell());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace fettle::testing
