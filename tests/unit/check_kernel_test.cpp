// The kernel that `fettle devices check` runs.
#include <gtest/gtest.h>

#include "host/app/check_kernel.h"

namespace fettle::app {
namespace {

// Boards of a kind have the same kernel, and another night's is no other.
TEST(CheckKernel, IsTheSameEachTime) {
  wire::DeviceInfoT info;
  info.key = "pynq";
  info.kind = wire::DeviceKind::Cpu;
  info.name = "Cortex-A9";
  info.memory_limit_bytes = 256 << 20;
  info.cpu = std::make_unique<wire::CpuFactsT>();
  info.cpu->arch = "armv7";
  info.cpu->triple = "armv7-unknown-linux-gnueabihf";
  info.cpu->cpu = "cortex-a9";
  info.cpu->features = {"neon", "vfp3"};
  info.cpu->vector_bits = 128;
  info.cpu->cores = {0, 1};
  const auto one = check_kernel(info), two = check_kernel(info);
  ASSERT_TRUE(one.ok()) << one.error().text();
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(one->id, two->id);
  EXPECT_EQ(one->expected.outputs.size(), 1u);
  EXPECT_EQ(one->request.expected.size(), 1u);
  EXPECT_EQ(one->request.options->threads, 2u);
  EXPECT_TRUE(one->request.options->check);
  info.cpu->cores = {0};
  const auto other = check_kernel(info);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->id, one->id) << "times with one thread are others";
  info.kind = wire::DeviceKind::Null;
  info.cpu.reset();
  const auto none = check_kernel(info);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace fettle::app
