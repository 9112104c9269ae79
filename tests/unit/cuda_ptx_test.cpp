// The CUDA back end: PTX of small programs, what is launched, what is refused.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "host/backend/cuda_ptx/program.h"
#include "host/backend/cuda_ptx/ptxas.h"
#include "schemas/wire/codec.h"
#include "tests/unit/cuda_ptx_case.h"

namespace fettle::backend {
namespace {

using cuda_ptx::Spills;

TEST(CudaPtx, ATiledProductOfMatrices) {
  const auto task = task_of(kMatrices);
  ASSERT_TRUE(task);
  const auto built = task->build(chosen(*task, kTiles));
  ASSERT_TRUE(built) << built.error().text();
  const wire::ProgramT& program = *built->program;
  EXPECT_TRUE(check_program(program));
  ASSERT_EQ(program.launches.size(), 1u);
  const wire::LaunchT& launch = *program.launches[0];
  EXPECT_EQ(launch.block->x() * launch.block->y() * launch.block->z(), 64u);
  EXPECT_EQ(launch.grid->x(), 2u) << "rows";
  EXPECT_EQ(launch.grid->y(), 3u) << "columns";
  EXPECT_EQ(launch.grid->z(), 2u) << "problems";
  EXPECT_EQ(launch.args.size(), 3u);
  ASSERT_EQ(program.images.size(), 1u);
  const wire::ImageT& image = *program.images[0];
  EXPECT_EQ(image.kind, wire::ImageKind::Ptx);
  const std::string ptx(image.bytes.begin(), image.bytes.end());
  const auto count = [&](const std::string& what) {
    int found = 0;
    for (std::size_t at = ptx.find(what); at != std::string::npos; at = ptx.find(what, at + 1)) {
      ++found;
    }
    return found;
  };
  EXPECT_NE(ptx.find(".target sm_80"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find(".entry " + image.entries[0]->name), std::string::npos);
  EXPECT_EQ(count("fma.rn.f32"), 4 * 4 * 16) << ptx;
  EXPECT_EQ(count("bar.sync"), 2) << ptx;
  EXPECT_GE(count(".shared .align"), 2) << ptx;
  EXPECT_EQ(count("ld.local"), 0) << "register tiles lie in registers";
  EXPECT_EQ(count("st.local"), 0);
  EXPECT_EQ(count(".f64"), 0);
  EXPECT_EQ(count(".maxntid 8, 8, 1"), 1) << ptx;
  // Register tiles are read four at once.
  EXPECT_GT(count("ld.shared.v4"), 0) << ptx;
}

std::string ptx_of(const Task& task, const char* configuration) {
  const auto built = task.build(chosen(task, configuration));
  EXPECT_TRUE(built) << built.error().text();
  if (!built) return "";
  const auto& bytes = built->program->images[0]->bytes;
  return {bytes.begin(), bytes.end()};
}

int count_in(const std::string& text, const std::string& what) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
  return found;
}

bool has_sketch(const Task& task, const std::string& name) {
  return std::ranges::any_of(task.space().sketches(),
                             [&](const space::Sketch& sketch) { return sketch.name == name; });
}

TEST(CudaPtx, FourProductsOfInt8AtOnce) {
  constexpr const char* kInt8 =
      R"({"op":"conv2d","height":8,"width":8,"in_channels":32,"out_channels":64,"kernel":[3,3],"pad":[1,1],"dtype":"int8","layout":"NHWC"})";
  constexpr const char* kDots =
      R"({"sketch":"gpu_tiled_dot4_s8s8","knobs":{"rows":[8,2],"columns":[8,4],"step":[8],
          "unroll":[2048],"neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],
          "stages":[1,0],"packed":[1],"source":[0]}})";
  const auto task = task_of(kInt8, target(61));
  ASSERT_TRUE(task);
  const std::string ptx = ptx_of(*task, kDots);
  EXPECT_EQ(count_in(ptx, "dp4a.s32.s32"), 2 * 4 * 8) << ptx;
  EXPECT_EQ(count_in(ptx, "ld.global.nc.u8"), 4) << "weights, when they are loaded\n" << ptx;
  EXPECT_FALSE(has_sketch(*task_of(kInt8, target(60)), "gpu_tiled_dot4_s8s8"));
}

// A step's tiles while the one before is computed: one barrier each.
TEST(CudaPtx, StagesAhead) {
  constexpr const char* kAhead =
      R"({"sketch":"gpu_tiled","knobs":{"rows":[8,4],"columns":[8,4],"step":[8],"unroll":[2048],
          "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],"stages":[3,1]}})";
  constexpr const char* kKept =
      R"({"sketch":"gpu_tiled","knobs":{"rows":[8,4],"columns":[8,4],"step":[8],"unroll":[2048],
          "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],"stages":[2,0]}})";
  const auto task = task_of(kMatrices);
  ASSERT_TRUE(task);
  const std::string ahead = ptx_of(*task, kAhead), kept = ptx_of(*task, kKept);
  EXPECT_EQ(count_in(ahead, "bar.sync"), 1) << ahead;
  EXPECT_EQ(count_in(ahead, "cp.async.ca.shared.global"), 3 * 2) << ahead;
  EXPECT_EQ(count_in(ahead, "cp.async.commit_group"), 3) << ahead;
  EXPECT_EQ(count_in(ahead, "cp.async.wait_group 1"), 1) << ahead;
  EXPECT_EQ(count_in(kept, "bar.sync"), 1) << kept;
  EXPECT_EQ(count_in(kept, "cp.async"), 0) << kept;
  EXPECT_EQ(count_in(kept, "local"), 0) << "what is kept lies in registers\n" << kept;
  EXPECT_FALSE(task_of(kMatrices, target(75))->space().parse(kAhead)) << "before 8.0";
}

// More than what a kernel may declare: its launch states it, and the driver is asked for it.
TEST(CudaPtx, SharedMemoryThatALaunchStates) {
  constexpr const char* kLarge = R"({"op":"batch_matmul","batch":1,"m":128,"n":128,"k":256})";
  constexpr const char* kThreeStages =
      R"({"sketch":"gpu_tiled","knobs":{"rows":[16,8],"columns":[16,8],"step":[32],"unroll":[64],
          "neighbours":[0],"shared":[3],"first_order":[1],"second_order":[0],"stages":[3,1]}})";
  constexpr std::uint32_t kBytes = 3 * 32 * (128 + 128) * 4;
  space::GpuTarget gpu = target(86);
  gpu.shared_bytes = 99 << 10;
  const auto task = task_of(kLarge, gpu);
  ASSERT_TRUE(task);
  const auto built = task->build(chosen(*task, kThreeStages));
  ASSERT_TRUE(built) << built.error().text();
  EXPECT_TRUE(check_program(*built->program));
  EXPECT_EQ(built->program->launches[0]->shared_bytes, kBytes);
  const auto& bytes = built->program->images[0]->bytes;
  const std::string ptx(bytes.begin(), bytes.end());
  EXPECT_EQ(count_in(ptx, ".extern .shared .align 128"), 1) << ptx;
  EXPECT_EQ(count_in(ptx, "cvta.shared"), 0) << ptx;
  EXPECT_FALSE(task_of(kLarge, target(86))->space().parse(kThreeStages)) << "48 KiB";
}

// ptxas's report judges what is sent, whoever wrote the kernel.
TEST(CudaPtx, WhatABlockMayNotHaveIsNotSent) {
  if (!cuda_ptx::ptxas_for(target(90))) GTEST_SKIP() << "no ptxas on this machine";
  constexpr const char* kPtx = R"(.version 7.8
.target sm_90
.address_size 64
.shared .align 4 .b8 tile[4096];
.visible .entry keeps(.param .u64 out) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  mov.u64 %rd1, tile;
  ld.shared.u32 %r1, [%rd1];
  ld.param.u64 %rd2, [out];
  st.global.u32 [%rd2], %r1;
  ret;
})";
  space::GpuTarget gpu = target(90);
  EXPECT_TRUE(cuda_ptx::image_of_ptx(kPtx, {{"keeps", 32}}, gpu, Spills::Few));
  gpu.shared_bytes = 4096;
  EXPECT_TRUE(cuda_ptx::image_of_ptx(kPtx, {{"keeps", 32}}, gpu, Spills::Few));
  const auto stated = cuda_ptx::image_of_ptx(kPtx, {{"keeps", 32, 1024}}, gpu, Spills::Few);
  ASSERT_FALSE(stated);
  EXPECT_EQ(stated.error().code, ErrorCode::BuildError);
  EXPECT_NE(stated.error().text().find("5120 bytes of shared memory"), std::string::npos)
      << stated.error().text();
  gpu.registers_per_block = 1024;
  EXPECT_TRUE(cuda_ptx::image_of_ptx(kPtx, {{"keeps", 64}}, gpu, Spills::Few));
  EXPECT_FALSE(cuda_ptx::image_of_ptx(kPtx, {{"keeps", 1024}}, gpu, Spills::Few));
}

// Holds so many values at once, in 24 registers.
std::string keeper_of(int values) {
  std::string text =
      ".version 7.8\n.target sm_90\n.address_size 64\n"
      ".visible .entry keeps(.param .u64 from, .param .u64 to)\n.maxnreg 24\n{\n"
      "  .reg .b64 %rd<3>;\n  .reg .b32 %r<" +
      std::to_string(values) +
      ">;\n"
      "  ld.param.u64 %rd1, [from];\n  ld.param.u64 %rd2, [to];\n";
  const auto all = [&](const std::string& begin, const std::string& end, auto operand) {
    for (int i = 0; i < values; ++i) text += begin + operand(std::to_string(i)) + end;
  };
  all("  ld.volatile.global.b32 ", "\n",
      [](const std::string& i) { return "%r" + i + ", [%rd1+4];"; });
  all("  st.volatile.global.b32 ", "\n",
      [](const std::string& i) { return "[%rd2+4], %r" + i + ";"; });
  return text + "  ret;\n}\n";
}

// A candidate that spills is none; a kernel that a user wrote may.
TEST(CudaPtx, WhatSpillsIsNoCandidate) {
  if (!cuda_ptx::ptxas_for(target(90))) GTEST_SKIP() << "no ptxas on this machine";
  const space::GpuTarget gpu = target(90);
  const std::string many = keeper_of(100), few = keeper_of(12);
  const auto assembled = cuda_ptx::assemble(many, gpu);
  ASSERT_TRUE(assembled) << assembled.error().text();
  const std::int64_t spilled = assembled->kernels.at(0).spill_store_bytes;
  ASSERT_GT(spilled, 200);
  const auto refused = cuda_ptx::image_of_ptx(many, {{"keeps", 32}}, gpu, Spills::Few);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::BuildError);
  EXPECT_NE(refused.error().text().find("keeps: a thread spills " + std::to_string(spilled)),
            std::string::npos)
      << refused.error().text();
  EXPECT_TRUE(cuda_ptx::image_of_ptx(many, {{"keeps", 32}}, gpu, Spills::Allowed));
  EXPECT_TRUE(cuda_ptx::image_of_ptx(few, {{"keeps", 32}}, gpu, Spills::Few));
}

TEST(CudaPtx, TensorCores) {
  constexpr const char* kHalves =
      R"({"op":"batch_matmul","batch":2,"m":64,"n":96,"k":48,"dtype":"float16"})";
  constexpr const char* kWarps =
      R"({"sketch":"gpu_wmma_f16","knobs":{"rows":[2,2],"columns":[1,2],"step":[16],
          "stages":[1,0],"first_order":[1],"second_order":[0]}})";
  const auto task = task_of(kHalves, target(75));
  ASSERT_TRUE(task);
  const std::string ptx = ptx_of(*task, kWarps);
  EXPECT_EQ(count_in(ptx, "wmma.mma.sync"), 2 * 2) << ptx;
  EXPECT_EQ(count_in(ptx, "wmma.load.a.sync"), 2) << ptx;
  EXPECT_EQ(count_in(ptx, "wmma.load.b.sync"), 2) << ptx;
  EXPECT_EQ(count_in(ptx, "wmma.store.d.sync"), 2 * 2) << ptx;
  EXPECT_EQ(count_in(ptx, ".maxntid 32, 2, 1"), 1) << ptx;
  EXPECT_EQ(count_in(ptx, "ld.local") + count_in(ptx, "st.local"), 0) << ptx;
  EXPECT_FALSE(has_sketch(*task_of(kHalves, target(62)), "gpu_wmma_f16"));
  EXPECT_FALSE(has_sketch(*task_of(kMatrices, target(75)), "gpu_wmma_f16")) << "float32 stays so";
}

constexpr const char* kAllowing =
    R"({"op":"batch_matmul","batch":2,"m":64,"n":96,"k":48,"allow_tf32":true})";

// Each fragment is rounded once, however many products it is in.
TEST(CudaPtx, TensorCoresWhereTf32IsAllowed) {
  constexpr const char* kWarps =
      R"({"sketch":"gpu_wmma_tf32","knobs":{"rows":[2,2],"columns":[1,2],"step":[16],
          "stages":[2,1],"first_order":[1],"second_order":[0]}})";
  const auto task = task_of(kAllowing);
  ASSERT_TRUE(task);
  const std::string ptx = ptx_of(*task, kWarps);
  EXPECT_EQ(count_in(ptx, "wmma.mma.sync.aligned.col.row.m16n16k8.f32.tf32.tf32.f32"), 2 * 2 * 2)
      << ptx;
  EXPECT_EQ(count_in(ptx, "wmma.load.a.sync"), 2 * 2) << ptx;
  EXPECT_EQ(count_in(ptx, "wmma.load.b.sync"), 2 * 2) << ptx;
  EXPECT_EQ(count_in(ptx, "cvt.rna.tf32.f32"), (2 * 2 + 2 * 2) * 4) << ptx;
  EXPECT_EQ(count_in(ptx, "wmma.store.d.sync.aligned.row.m16n16k8"), 2 * 2) << ptx;
  EXPECT_GT(count_in(ptx, "cp.async"), 0) << "raw, beside the threads\n" << ptx;
  EXPECT_EQ(count_in(ptx, "ld.local") + count_in(ptx, "st.local"), 0) << ptx;
  EXPECT_FALSE(has_sketch(*task_of(kAllowing, target(75)), "gpu_wmma_tf32")) << "before 8.0";
  const auto built = task->build(chosen(*task, kWarps));
  ASSERT_TRUE(built);
  EXPECT_GT(built->facts->error_growth, 100);
  EXPECT_EQ(built->facts->operations, 0) << "the ceilings say nothing of tensor cores";
}

// What does not use it is held to what float32 may be off.
TEST(CudaPtx, Tf32IsNotUsedUnasked) {
  for (const int sm : {80, 86, 87, 89, 90}) {
    const auto plain = task_of(kMatrices, target(sm, 1205));
    ASSERT_TRUE(plain);
    EXPECT_FALSE(has_sketch(*plain, "gpu_wmma_tf32")) << sm;
    const auto allowing = task_of(kAllowing, target(sm, 1205));
    ASSERT_TRUE(allowing);
    EXPECT_TRUE(has_sketch(*allowing, "gpu_wmma_tf32")) << sm;
    for (const auto& task : {plain.get(), allowing.get()}) {
      const auto built = task->build(chosen(*task, kTiles));
      ASSERT_TRUE(built) << built.error().text();
      const auto& bytes = built->program->images[0]->bytes;
      EXPECT_EQ(count_in({bytes.begin(), bytes.end()}, "tf32"), 0);
      EXPECT_EQ(built->facts->error_growth, 1);
    }
  }
}

TEST(CudaPtx, ExplainShowsWhatIsMade) {
  const auto task = task_of(kMatrices);
  ASSERT_TRUE(task);
  const auto configuration = chosen(*task, kTiles);
  const auto text = task->explain(configuration, "");
  ASSERT_TRUE(text) << text.error().text();
  for (const char* part : {"--- IR", "--- PTX", "--- launches", "--- ptxas", "--- facts",
                           "2x3x2 blocks of 8x8x1 threads"}) {
    EXPECT_NE(text->find(part), std::string::npos) << part;
  }
  const auto loops = task->explain(configuration, "build_loops");
  ASSERT_TRUE(loops);
  EXPECT_NE(loops->find("block_shared"), std::string::npos) << *loops;
  EXPECT_FALSE(task->explain(configuration, "nothing"));
}

TEST(CudaPtx, FeaturesAreThoseOfTheBuild) {
  const auto task = task_of(kMatrices);
  ASSERT_TRUE(task);
  const auto configuration = chosen(*task, kTiles);
  const auto features = task->features(configuration);
  const auto built = task->build(configuration);
  ASSERT_TRUE(features && built);
  EXPECT_EQ(*features, built->facts->features);
  EXPECT_EQ(features->size(), find_backend(kName)->feature_names().size());
  EXPECT_EQ(task->screen(*features), nullptr);
  EXPECT_EQ(built->facts->operations, 2.0 * 2 * 64 * 96 * 48);
}

TEST(CudaPtx, ConstraintsAreTheDevices) {
  space::GpuTarget small = target();
  small.threads_per_block = 32;
  const auto task = task_of(kMatrices, small);
  ASSERT_TRUE(task);
  const auto refused = task->space().parse(kTiles);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("threads of a block"), std::string::npos);
}

}  // namespace
}  // namespace fettle::backend
