// GPU targets: from what a device says, and as text.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/space/gpu_target.h"

namespace fettle::space {
namespace {

constexpr const char* kBackend = "cuda_ptx";

wire::DeviceInfoT device(const char* capability, const char* api) {
  wire::DeviceInfoT d;
  d.key = "jetson-orin-gpu";
  d.kind = wire::DeviceKind::Cuda;
  d.gpu = std::make_unique<wire::GpuFactsT>();
  d.gpu->compute_capability = capability;
  d.gpu->api_version = api;
  d.gpu->max_threads_per_block = 1024;
  d.gpu->shared_bytes_per_block = 49152;
  d.gpu->registers_per_block = 65536;
  d.gpu->warp_size = 32;
  d.gpu->compute_units = 16;
  d.gpu->global_memory_bytes = 8ull << 30;
  return d;
}

TEST(SpaceGpuTarget, FollowsFromTheDevice) {
  const auto t = cuda_target_for(device("8.7", "CUDA 12.6"), kBackend);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(t->sm, 87);
  EXPECT_EQ(t->driver, 1206);
  EXPECT_EQ(t->compute_units, 16);
  EXPECT_EQ(t->shared_bytes, 49152);
  EXPECT_EQ(t->memory_bytes, 8ll << 30);
  auto limited = device("8.7", "CUDA 12.6");
  limited.memory_limit_bytes = 1 << 30;
  EXPECT_EQ(cuda_target_for(limited, kBackend)->memory_bytes, 1 << 30);
}

TEST(SpaceGpuTarget, SharedMemoryIsWhatAKernelMayAskFor) {
  auto orin = device("8.7", "CUDA 12.6");
  orin.gpu->shared_bytes_per_block_optin = 163 << 10;
  orin.gpu->shared_bytes_per_unit = 164 << 10;
  const auto t = cuda_target_for(orin, kBackend);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->shared_bytes, 163 << 10);
  EXPECT_EQ(t->shared_bytes_per_unit, 164 << 10);
  EXPECT_EQ(GpuTarget::parse(t->target(), kBackend)->shared_bytes_per_unit, 164 << 10);
}

TEST(SpaceGpuTarget, TextThereAndBack) {
  const auto t = cuda_target_for(device("9.0", "CUDA 12.4"), kBackend);
  ASSERT_TRUE(t);
  const Target text = t->target();
  EXPECT_EQ(text.backend(), kBackend);
  EXPECT_EQ(text.threads(), 1) << "threads of a block are none of the program's";
  const auto back = GpuTarget::parse(text, kBackend);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->target(), text);
  EXPECT_FALSE(GpuTarget::parse(text, "opencl_c"));
  EXPECT_FALSE(GpuTarget::parse(*Target::parse(R"({"backend":"cuda_ptx"})"), kBackend));
  GpuTarget impossible = *t;
  impossible.threads_per_block = 0;
  EXPECT_FALSE(GpuTarget::parse(impossible.target(), kBackend));
}

// The first PTX version with each capability, and the newest that a JetPack's driver takes.
TEST(SpaceGpuTarget, PtxVersionFollowsFromTheDriver) {
  const auto version = [](const char* capability, const char* api) {
    const auto t = cuda_target_for(device(capability, api), kBackend);
    return t ? *ptx_version_of(*t) : 0;
  };
  EXPECT_EQ(version("5.3", "CUDA 10.2"), 65);
  EXPECT_EQ(version("7.2", "CUDA 11.4"), 74);
  EXPECT_EQ(version("8.7", "CUDA 11.4"), 74);
  EXPECT_EQ(version("9.0", "CUDA 13.0"), 85) << "the newest that LLVM writes";
  EXPECT_EQ(version("8.9", "CUDA 11.4"), 0) << "before there was such a device";
  EXPECT_EQ(version("3.5", "CUDA 11.4"), 0);
  EXPECT_EQ(version("x", "CUDA 11.4"), 0);
  EXPECT_EQ(version("8.7", "OpenCL 3.0"), 0);
  const auto thor = cuda_target_for(device("11.0", "CUDA 13.0"), kBackend);
  ASSERT_TRUE(thor);
  EXPECT_EQ(thor->sm, 110);
  EXPECT_EQ(ptx_sm_of(*thor), 90);
}

TEST(SpaceGpuTarget, InstructionsWithAShape) {
  const auto has = [](const GpuTarget& t, const char* row) {
    const auto there = t.instructions();
    return std::ranges::count(there, ir::find_intrinsic(row)) == 1;
  };
  GpuTarget t;
  t.backend = kBackend, t.sm = 60;
  EXPECT_TRUE(t.instructions().empty());
  t.sm = 61;
  EXPECT_TRUE(has(t, "dot4_s8s8"));
  EXPECT_FALSE(has(t, "wmma_f16"));
  t.sm = 72;
  EXPECT_TRUE(has(t, "dot4_s8s8") && has(t, "wmma_f16"));
  EXPECT_FALSE(has(t, "wmma_tf32"));
  t.sm = 80;
  EXPECT_TRUE(has(t, "wmma_f16") && has(t, "wmma_tf32"));
  wire::DeviceInfoT mali;
  mali.key = "board-mali", mali.kind = wire::DeviceKind::OpenCl;
  mali.gpu = std::make_unique<wire::GpuFactsT>();
  mali.gpu->extensions = {"cl_khr_fp16", "cl_arm_integer_dot_product_accumulate_int8"};
  const auto opencl = opencl_target_for(mali, "opencl_c");
  ASSERT_TRUE(opencl) << opencl.error().text();
  EXPECT_TRUE(has(*opencl, "dot4_s8s8"));
  EXPECT_EQ(opencl->extensions.size(), 1u) << "those that rows ask for";
  EXPECT_EQ(GpuTarget::parse(opencl->target(), "opencl_c")->extensions, opencl->extensions);
  mali.gpu->extensions.pop_back();
  EXPECT_TRUE(opencl_target_for(mali, "opencl_c")->instructions().empty()) << "a T860";
}

TEST(SpaceGpuTarget, OtherDevicesAreRefused) {
  auto cpu = device("8.7", "CUDA 12.6");
  cpu.kind = wire::DeviceKind::Cpu;
  const auto refused = cuda_target_for(cpu, kBackend);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace fettle::space
